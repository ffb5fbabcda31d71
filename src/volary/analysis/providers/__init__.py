"""Asking metric systems for measurements.

Start reading at `opening.open_providers`, which gives `opening.Providers`: the one thing that
others call, with `query.Query` in and `query.Answer` out. Each kind of system is a
`dialect.Dialect` in a module of its own: what is sent for a query, and how the answer is read,
without any input or output. `exchange` sends, bounded in every way; `sharing` lets those who
ask the same have the same answer.
"""
