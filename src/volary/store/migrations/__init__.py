"""Alembic's scripts, one for each released schema, run by `migrating`.

A released script is never changed. A new one adds: tables, columns with a server default,
indexes. It names plain SQLAlchemy types, not those of `sql.tables`, which moves on.
"""
