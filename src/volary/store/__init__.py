"""Durable state: what must outlive the process.

Words: a *transition* is one step of a run, kept whole or not at all; a *lease* lets one
process at a time drive the runs, and its *fence* is a growing number that every write
shows, so that a process that was overtaken can write nothing; a *document* is JSON made
by the caller, which nothing here looks into; a *page* is a piece of a list, with a
*cursor* where the next one begins.

One protocol (`protocol.Store`), three implementations that pass one suite of tests:
SQLite (a file, the default), PostgreSQL (for a team) and memory (for tests and one-shot
runs). The first two share the code in `sql`; their schema is `sql.tables`, and
`migrations` brings an older database to it. Start reading at `protocol`, then `opening`.

Rows evolve by adding with defaults; nothing is renamed, retyped or given a new meaning.
May import `volary.model` only.
"""
