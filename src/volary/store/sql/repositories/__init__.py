"""One repository for each group of the protocol: runs, events, logs, leases, …

May import `store.sql.database` and `store.sql.schema`. Start reading at `store.protocol`, then
`runs`.
"""
