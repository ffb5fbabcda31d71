"""What Kubernetes knows about its types, as pure functions on JSON objects.

`meta` reads what all objects share, `scheme` knows the kinds and their types, `patching` has
the patch types and server-side apply, `validation` says what is refused. Nothing mutates its
arguments; results share unchanged structure with them, so callers must treat every object as
read only.

A write passes through `scheme.decoding`, `scheme.defaults`, `patching.managed_fields`,
`validation.validator`. May import the standard library, msgspec and `kube_sandbox.json`.
"""
