"""The store in a database: SQLite and PostgreSQL share every line but a few.

`schema` is how the tables are, `database` connects and makes transactions, and each module of
`repositories` holds the queries of one noun. Start reading at `repositories`.
"""
