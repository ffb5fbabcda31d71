"""What a stage applies to a cluster, and in which size.

*Rendering* is what is applied for a variant, as a list of manifests; a *service rollout* is
that of a Service whose pods are not copies of a workload. Imports `runtime`. Start reading at
`rendering`.
"""
