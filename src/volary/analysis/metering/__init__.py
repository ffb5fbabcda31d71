"""From a question to a measurement: what is asked of metric systems for one side of a rule.

A *meter* answers questions; `query_names` says what the objects of a variant are called in
queries, `query_templates` are the queries that Volary brings along. Imports `providers`,
`volary.config` and `volary.manifests`. Start reading at `meters`.
"""
