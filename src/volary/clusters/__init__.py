"""The clients of Kubernetes APIs, and what is read and written with them.

From the bottom up: `api` (the protocol as plain values), `kubeconfig` (how a cluster is
reached), `transport` (HTTP, credentials, retries), `client` (one method per verb, a pool for a
fleet), `watching` (waiting for states), `apply` (writing whole sets), `inventory` (what belongs
to an application, and pruning it), `observe` (reading for people and for placement).

Start reading at `client.clients`. Imports `model`, `config` (its YAML), `manifests` and
`placement`; none of `sources`, `engine` and `sandbox`.
"""
