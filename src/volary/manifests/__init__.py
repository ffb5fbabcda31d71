"""Pure functions over Kubernetes objects: plain values in, plain values out.

Words: a *manifest* is a desired object (`model.objects.manifest.Manifest`), an
*object* is the JSON a cluster answers with. A *variant* is a copy of the workload beside the
primary.

From the bottom up: `objects` (access to open-ended JSON), `workloads`, `loading`, `ownership`,
`redaction`, `services`, `routes`, `variants`; beside them `health` and `diff`. The usual way is
`documents.parse`, `namespace_scopes.force`, `apply_order.sort`, then one of `variants.primary`,
`variants.canary` and `variants.baseline`, and `tracking.track` at last.

Imports `model` and `config.text` only. Start reading at `loading.documents`.
"""
