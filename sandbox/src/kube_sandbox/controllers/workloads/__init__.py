"""The controllers that make pods: Deployment, ReplicaSet, StatefulSet, DaemonSet, Job.

One module each, `deployments` is a package; `revisions` are the remembered templates of
StatefulSets and DaemonSets.
"""
