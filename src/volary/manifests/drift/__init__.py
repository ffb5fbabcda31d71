"""What in a cluster is not as Git says, of one object: fields that differ, and by whom.

`differences` compares a manifest, as it is applied, with its live object; `ignoring` leaves out
what users do not want compared. Whether a server agrees is asked elsewhere (`clusters.apply`).

Imports `ownership`, `workloads` and `objects`. Start at `differences`.
"""
