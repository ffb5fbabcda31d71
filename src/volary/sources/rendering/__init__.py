"""A tree becomes manifests: plain files, kustomize, Helm.

`renderers` chooses the method and remembers results; `plain_files`, `kustomize` (what it may
read: `kustomizations`) and `helm` are the methods; `workspace` writes private directories for
programs, `programs` finds and runs them.

Imports `trees` and `application_discovery`. Start at `renderers.Renderer`.
"""
