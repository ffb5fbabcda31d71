"""The Deployment controller, in the steps of Kubernetes' own.

`reconcile` is the entry, `rollout` has the strategies, `scaling` what happens when the size
changes, `replicasets` finds and makes ReplicaSets, `progress` writes the status. `sizes` holds
the arithmetic.
"""
