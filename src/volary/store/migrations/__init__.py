"""Alembic's scripts: how a database gets its schema; run by `store.migrator`.

`upgrade` of a script expands the schema, `contract` takes away what only older programs needed:
`store.schema_versions` has the rule. Every script but the first names plain SQLAlchemy types, not
those of `sql.schema.tables`. Start reading at `versions`.
"""
