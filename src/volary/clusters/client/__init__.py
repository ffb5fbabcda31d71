"""The client of one cluster, and of a fleet.

`clients.Client` has one method per verb, `watches` follows a collection, `client_pool` holds
the clients of a fleet, and `resource_mapping` finds the resource and namespace of a manifest,
as a RESTMapper does.

Imports `api`, `kubeconfig` and `transport`. Start reading at `clients`.
"""
