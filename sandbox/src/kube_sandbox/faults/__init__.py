"""Faults of an emulated cluster, switched while it runs.

`faults` is their state and what they do to a request, `fault_middleware` the hook in the HTTP
layer through which they take effect and are switched, `faults_client` switches them from
another process.
"""
