"""What one cluster holds: its objects, their common resourceVersion, and what changed lately.

`storage` keeps objects and changes, `cluster_state` adds served kinds, clock, chance and the
`allocators` of addresses and ports; `verbs` are the words in which reads and writes are asked
for, `selection` the label and field selectors of queries.
"""
