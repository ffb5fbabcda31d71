"""The order in which a run reaches its clusters. Pure, and fixed at the start of the run.

`planned_waves` divides the clusters, `wave_steps` says which stage of which wave comes when,
`fleet_batches` divides a share of the whole fleet. May import `placement.replicas`. Start at
`planned_waves.divide`.
"""
