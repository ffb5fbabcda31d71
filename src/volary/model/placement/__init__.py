"""How an application is spread over clusters and moves over them.

Words: a *wave* is a group of clusters that move together, a *window* a time when they may be
changed, an *override* what differs on some clusters, a *spread constraint* over how many
regions it runs, *failover* its move away from a lost cluster.

May import `model.pipeline`. Start reading at `rollouts`.
"""
