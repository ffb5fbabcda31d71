"""A cluster's API over HTTP: real sockets, so that stock kubectl can talk to it.

`server.start(registry, settings)` opens a port and returns a running `server.Server`;
`fault_middleware` is where faults come in; `users` says who may do what.
"""
