"""Everything that talks to a Kubernetes API.

From the bottom up:

- `kubeconfig` (with `entries`, `connections`, `users`, `service_account`, `proxies`) says
  how a cluster of the fleet is reached: a `settings.Connection`;
- `requests` and `discovery` say what is asked, as plain values; `errors` what the answers mean;
- `transport` sends (with `sessions`, `tls`, `credentials`, `plugins`, `retries`, `breaker`);
- `client` is one method per verb, `watches` follows a collection, `pool` holds a fleet's clients;
- `apply`, `wait` and `prune` act on whole sets of manifests.

Start reading at `client`. Imports `model`, `config` (its YAML) and `manifests`; none of
`sources`, `engine` and `sandbox`.
"""
