"""Is it there? Health of live objects, and status over all clusters.

`assessment` chooses the rule of a kind: `workload_health`, `pod_health`, `rollout_health` (Argo
Rollouts, OpenKruise, Flagger), `builtin_health`, `custom_health`, or the user's own
(`health_rules`). `fleet_status` and `status_aggregation` make one status of many clusters.

Imports `ownership`, `workloads` and `objects`. Start reading at `assessment.assess`.
"""
