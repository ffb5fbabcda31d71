"""Tasks carried out by other processes than the leader: in an agent beside a cluster, or a worker.

Words: a *bundle* is what a process needs for the tasks of one run on one cluster, besides the
cluster; its *services* are what a task asks the server for meanwhile. Start reading at `bundles`,
then `bundled_runs`.
"""
