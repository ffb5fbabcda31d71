"""The API server of a cluster: real sockets, so that stock kubectl can talk to it.

`server.start` opens a port and returns a running `server.Server`; `application` takes each
request through `access` (who may do what) to `endpoints` (from requests to verbs), which call
the verbs of `registry.registry.Registry` on what `storage` holds; `printing` writes the tables
of ``kubectl get``. May import `apimachinery`. Start reading at `registry.registry`.
"""
