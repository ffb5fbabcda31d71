"""Durable state: what must outlive the process.

Words: a *transition* is one step of a run, kept whole or not at all; a *lease* lets one
process at a time drive the runs, and its *fence* is a growing number that every write
shows, so that a process that was overtaken can write nothing; a *document* is JSON made
by the caller, which nothing here looks into; a *page* is a piece of a list, with a
*cursor* where the next one begins.

One class (`stores.Store`) on two databases that pass one suite of tests: SQLite
(a file, the default; in memory for tests and one-shot runs) and PostgreSQL (for a team).
The code is in `sql`, its schema in `sql.schema.tables`; `migrations` makes it in a new database.
Start reading at `stores`, then `factory`. May import `volary.model` only.
"""
