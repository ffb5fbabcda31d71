"""Real traffic in a sandbox, when a fleet is started with it.

`blocks` gives pods addresses on the loopback interface, `pods` keeps one listening server per
running container port, `proxy` is the built-in way to a Service, `load` sends requests
at a fixed rate. `http1`, `serving` and `pool` are the HTTP/1.1 they share: no task and
few objects per request, so that one process can be servers, proxies and clients at once.
"""
