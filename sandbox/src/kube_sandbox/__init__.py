"""Emulated Kubernetes clusters in one process: real API servers on sockets, for tests and demos.

Start reading at `fleet`, which starts clusters. Imports nothing of the programs that are tested
with it, so that a mistake cannot hide on both sides.
"""
