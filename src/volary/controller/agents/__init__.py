"""The agents that may connect, what they are ordered to do, and the servers' ends of their tunnels.

`agent_registry` keeps who they are: hashes of their tokens, public keys, the cluster that each was
first seen from. `tunnel_hub` has the tunnels of this process, and a socket for each cluster through
which the clients of `clusters` reach it. `run_orders` gives the orders of a run, `task_services`
answers the tasks that follow from them.

Start reading at `agent_registry`.
"""
