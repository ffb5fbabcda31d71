"""What differs between two values, two objects, two sets of objects.

`value_diff` compares JSON by rules, `object_diff` matches the objects of two sets by their
keys, `diff_text` writes it for people in PipeCD's layout.

Imports `loading`, `ownership`, `redaction`, `workloads` and `objects`. Start at `object_diff`.
"""
