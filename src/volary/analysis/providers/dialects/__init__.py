"""One file for each kind of metric system: what is sent for a query, and how the answer is read.

Pure.

Add a system: a file with a `dialect.Dialect`, a line in `registry`. Imports `providers.query`
only. Start reading at `dialect`, then `prometheus`.
"""
