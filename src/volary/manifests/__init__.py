"""Pure functions over Kubernetes objects: plain values in, plain values out.

Words: a *manifest* is an object as somebody wants it (`model.manifest.Manifest`),
an *object* is the JSON a cluster answers with. A *mark* is the labels and
annotations by which an object is known as ours. A *variant* is a copy of the
workload beside the primary.

Imports `model` and `config.yaml` only. Start reading at `load` (text becomes
manifests), `variants` (what a stage applies) and `health` (when it is there).
The usual way through the room is ``load.parse``, ``namespaces.force``,
``order.sort``, then one of ``variants.primary``, ``variants.canary`` and
``variants.baseline``, and ``tracking.mark_all`` at last.
"""
