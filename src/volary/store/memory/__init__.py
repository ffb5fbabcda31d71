"""The store in memory: for tests and for runs that one process watches to their end.

A real implementation that passes the same suite as the databases. No method awaits anything
in its middle, so each is all or nothing by itself. What goes in and out is copied, as a
database would do. Start reading at `store`.
"""
