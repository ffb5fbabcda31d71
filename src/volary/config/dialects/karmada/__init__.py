"""Karmada's placement and override policies (``policy.karmada.io/v1alpha1``).

They are translated into a file of our own dialect, which is then read like any other: so
what a policy means here can be printed (``volary convert karmada``). Start reading at
`translation`; `schema` is the form of the files.
"""
