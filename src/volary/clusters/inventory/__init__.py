"""What belongs to an application in a cluster, and pruning what is not desired any more.

Words: an *inventory* is a ConfigMap with references to all that was applied (`inventory`, kept
by `inventory_store`); *owned objects* carry the application's labels and annotations
(`owned_objects`); `pruning` deletes those that are not desired, on evidence only.

Imports `api`, `client` and `apply`. Start reading at `pruning.prune`.
"""
