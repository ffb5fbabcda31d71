"""What a cluster's owner permits: decisions on requests, on writes and on whole tasks. Pure.

Imports `model` and `config`. Start reading at `decisions`.
"""
