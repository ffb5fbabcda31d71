"""Writing manifests to a cluster: server-side apply, replace, delete.

`applier` applies a whole set: all validated by dry runs first, then written in order
(`set_parts`). `steps` is what is known of one object on its way: `dry_runs` tries it (`trials`
remembers that), `step_writes` writes it, `step_requests` is how it is sent. `live_objects` is what
is there, `managed_fields` proves that nothing would change, `handing_over` gives its fields to
who applies it, `taken_fields` says whose they were. `applied_objects` are as they were applied,
`interferences` finds what others did since, `restoration` gives objects back as they were.
`refusals` explains what a cluster did not accept, `apply_errors` what went wrong with a set,
`deletions` deletes what was checked again.

Imports `api`, `client` and `watching`. Start reading at `applier.SetApply`.
"""
