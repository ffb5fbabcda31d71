"""What kube-apiserver refuses about an object, in its words.

`validator.check` is the entry; the other modules are named after groups of kinds, `checks` and
`names` are what many kinds share. May import `meta`, `scheme` and `patching`.
"""
