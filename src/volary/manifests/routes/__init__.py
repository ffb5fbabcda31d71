"""Route objects: Ingress, VirtualService, and those that are generated.

`ingresses` and `virtual_services` read and change what Git has; `generated_routes` and
`generated_services` make what the application file asks for and Git does not have.

Imports `services`, `workloads` and `objects`. Start reading at `generated_routes`.
"""
