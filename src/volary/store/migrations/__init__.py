"""Alembic's scripts: how a database gets its schema; run by `store.migrator`.

Every script but the first names plain SQLAlchemy types, not those of `sql.schema.tables`. Start
reading at `versions`.
"""
