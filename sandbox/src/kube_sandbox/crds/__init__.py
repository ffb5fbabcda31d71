"""Definitions of custom resources that a fleet can start with.

`definitions` is the entry: Istio, SMI, Traefik, the Gateway API (`gateway_api`).
"""
