"""Moving traffic between variants on one cluster, without losing a request.

A *division* is how the traffic is wanted, *weights* are what routes say, a *route object* is
the object that carries them. `routers` decide, purely; `routes` talks to the cluster. Imports
`runtime` and `rollouts`. Start reading at `routes`, then `routers.interface`.
"""
