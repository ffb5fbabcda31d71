"""Real traffic in a sandbox, when a fleet is started with it.

`cluster_traffic` is the entry for one cluster: `servers` keeps one listening server per running
container port, `proxies` are the ways to a Service, `routes` reads what objects of routers say;
`load` sends requests at a fixed rate, `protocols` is the HTTP they share. `programs` starts
real proxies and Prometheus.
"""
