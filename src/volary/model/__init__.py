"""The words of the domain: frozen dataclasses, enums, errors and the clock.

Imports the standard library only. Start reading at `applications` (what users
write), `resource` and `manifest` (what Kubernetes knows), `outcome` (what a
piece of work reports back).
"""
