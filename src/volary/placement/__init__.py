"""Decides where, in which order and in which share an application runs. Pure.

`failover` chooses clusters and says when an application leaves one, `replicas` divides pods,
`waves` puts clusters in order, `windows` knows when they may be changed. May import `manifests`,
`config` and `model`. Start reading at `waves.planned_waves`.
"""
