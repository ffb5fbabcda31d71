"""What every controller stands on.

A `view` of the cluster to read from, `actions` to return, `pods` as workload controllers see
them, and `hashes` of templates. Imports no controller.
"""
