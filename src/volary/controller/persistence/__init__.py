"""What the controller keeps, and how it goes on when the store is away.

Words: a *writer* gathers lines or findings and stores them in batches; *task state* is what a
stage's task keeps between attempts; *redaction* removes secret values from every sentence that
is stored or shown. Every write carries the fence of the leader lease. May import the packages
below the controller, and no other part of it. Start reading at `retry` and `journal`.
"""
