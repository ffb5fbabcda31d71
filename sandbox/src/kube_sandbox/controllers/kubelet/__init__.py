"""The emulated nodes: how a pod gets from bound to running, ready, and gone.

`behaviours` says how a pod behaves (delays, crashes), read from its image, its annotations and
the cluster's image rules; `containers` is the pure state machine of one container, `lifecycle`
that of a pod, `report` turns it into a status and `node` is what the shared loop calls.
"""
