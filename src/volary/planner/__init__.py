"""Strategy, stages and targets of a run, decided purely.

Nothing here reads files or clusters: manifests, the application and the fleet come
in, a `volary.model.runs.run_plans.Plan` with its reason goes out. May import `manifests`,
`config` and `model`. Start reading at `plans`; `strategy` keeps PipeCD's order of
rules, also those about manifests.
"""
