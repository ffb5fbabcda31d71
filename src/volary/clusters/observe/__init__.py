"""Reading a cluster: for people, for health, for placement.

`live_state` is what an application has in a cluster now, `probes` whether a cluster answers and
is ready, `free_capacity` what its nodes have left for more pods, `permissions` what the user
may do. Nothing is written here.

Imports `api`, `client` and `inventory`. Start reading at `live_state`.
"""
