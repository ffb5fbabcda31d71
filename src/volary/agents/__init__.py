"""Agents beside clusters: what runs in a cluster, and what both ends of its connection share.

An agent (`volary agent`) has credentials of its own cluster and only outbound connections. A tunnel
is such a connection, over which a server opens streams that end in the agent's guard proxy; the
policy is what the owner of the cluster permits, and wins over whatever a server asks for. The
registry of agents and the servers' ends of tunnels are in `controller.agents`.

May import `stages`, `engine` and what is below. Start reading at `agent`.
"""
