"""The words of the domain: frozen dataclasses, enums, errors and the clock.

Imports the standard library only. Start reading at `applications` (what users
write), `objects.manifest` (what Kubernetes knows), `statuses` (what a piece of work reports back).
"""
