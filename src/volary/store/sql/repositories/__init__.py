"""One repository for each noun: runs, events, logs, leases, …

May import `store.sql.database` and `store.sql.schema`. Start reading at `runs`.
"""
