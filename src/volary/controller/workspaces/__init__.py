"""Workspaces on their clusters: made, kept as they are written, and deleted when somebody says so.

A *workspace* is what a team gets (`model.workspaces`, rendered by `tenancy.workspace_manifests`).
It is *removed* when it, one of its namespaces, or a cluster of it is not written any more: then
nothing happens until somebody confirms it. It has no runs: there is nothing to judge or to roll
back, so each cluster is brought to what is written, again and again, whatever the others do.

`workspace_states` is what is stored, `cluster_workspaces` keeps one workspace on one cluster,
`workspace_removal` deletes it there. May import `leadership` and what is below it. Start at
`workspace_keeper.WorkspaceKeeper`.
"""
