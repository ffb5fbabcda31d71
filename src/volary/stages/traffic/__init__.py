"""Moving traffic between variants on one cluster, without losing a request.

A *division* is how the traffic should be divided, *weights* are what routes say, a *route object*
is the object that carries them. `routers` decide, purely; `routes` is what stages ask for,
`route_writes` writes it to the cluster and sees that it is in effect.
Imports `runtime` and `rollouts`. Start reading at `routes`, then `routers.router`.
"""
