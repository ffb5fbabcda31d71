"""Moving traffic between variants on one cluster, without losing a request.

A *division* is how the traffic should be divided, *weights* are what routes say, a *route object*
is the object that carries them. `routers` decide, purely; `routes` reads and writes the cluster.
Imports `runtime` and `rollouts`. Start reading at `routes`, then `routers.router`.
"""
