"""How a cluster is reached: kubeconfig files as kubectl reads them.

Words: a *connection* is everything needed to reach one API server (`connections.Connection`).
`kubeconfigs` finds, merges and resolves files, or takes a pod's service account;
`kubeconfig_entries` reads clusters, users and contexts; `environment_proxies` is HTTPS_PROXY.

Imports `config` (its YAML) and `model`, nothing else of `clusters`. Start at
`kubeconfigs.load`.
"""
