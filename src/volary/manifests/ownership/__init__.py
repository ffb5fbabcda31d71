"""Whose object it is, and what may be deleted.

`tracking` writes and reads the labels and annotations by which Volary knows its objects;
`prune_decisions` decides on that evidence what a prune or a clean-up of a variant deletes.

Imports `loading` and `objects`. Start reading at `tracking`.
"""
