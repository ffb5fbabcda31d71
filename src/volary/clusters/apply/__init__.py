"""Writing manifests to a cluster: server-side apply, replace, delete.

`applier` applies a whole set: all validated by dry runs first, then written in order. `steps`
is one object's way, `live_objects` what is there, `managed_fields` proves that nothing would
change, `refusals` explains what a cluster did not accept, `deletions` deletes what was checked
again.

Imports `api`, `client` and `watching`. Start reading at `applier.SetApply`.
"""
