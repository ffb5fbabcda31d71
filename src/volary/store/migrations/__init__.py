"""Alembic's scripts: how a database gets its schema; run by `store.migrator`.

A script names plain SQLAlchemy types, not those of `sql.schema.tables`. Start reading at
`versions`.
"""
