"""What runs pods: workloads, and what their pod templates refer to.

`workloads` knows where pod templates and replicas are, `images` the container images,
`config_references` the ConfigMaps and Secrets that pods use, `autoscalers` what scales a
workload, `quantities` the numbers of resources.

Imports `objects`. Start reading at `workloads`.
"""
