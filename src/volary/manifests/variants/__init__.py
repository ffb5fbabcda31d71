"""What primary, canary and baseline consist of.

`variants` builds the set of each, `patches` changes a canary's manifests, `config_hash` makes
pods restart when their configuration has changed.

Imports `loading`, `routes`, `services`, `workloads` and `objects`. Start reading at `variants`.
"""
