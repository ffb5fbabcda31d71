"""The store in a database: SQLite and PostgreSQL share every line but a few.

`tables` is the schema as it is now, `database` connects and makes transactions, and each
other module holds the queries of one noun.
"""
