"""Sending requests to one API server.

`transports` sends and streams over the pooled session of `sessions` (TLS included), with proofs
of identity from `authenticators`; `retries` and `circuit_breaker` decide whether a request is
sent again or at all, `stop_deadline` how long a task that has to stop still waits.

Imports `api` and `kubeconfig` of `clusters`. Start reading at `transports.Transport.send`.
"""

from volary.http_client import system_certificates

system_certificates.read_late()
