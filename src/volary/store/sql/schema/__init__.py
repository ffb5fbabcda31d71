"""The tables, their rows, and rules that writes to several tables share.

May import `store.sql.database`, `store.records` and `store.fencing`. Start reading at `tables`.
"""
