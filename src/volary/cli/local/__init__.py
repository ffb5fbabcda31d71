"""Commands that need no server and change nothing: plan, render, targets, schema, status,
doctor.

May import `controller` and what is below it, and no other sub-package of `cli`. Start with
`planning`.
"""
