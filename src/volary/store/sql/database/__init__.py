"""Connections, transactions and batches for SQLite and PostgreSQL.

What differs between the two databases is here and nowhere else. May import `volary.model` only.
Start reading at `database`.
"""
