"""What stands before the Services of a cluster: the built-in proxy, Envoy, Traefik.

`backends` finds the endpoints behind a Service; `envoy_config` is what istiod would tell Envoy.
"""
