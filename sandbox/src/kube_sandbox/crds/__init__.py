"""Definitions of custom resources that a fleet can start with.

`definitions` is the entry: SMI, Traefik, Istio (`istio`), the Gateway API (`gateway_api`);
`schemas` has the parts their schemas are made of.
"""
