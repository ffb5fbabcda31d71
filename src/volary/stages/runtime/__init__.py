"""What every stage is given, and how it is carried out on one cluster.

Words: a *context* is what a stage is given, its *work* what it has done so far; *task state* is
what outlives a restart; a *rendezvous* is where the tasks of one stage on several clusters
meet, a *barrier* lets them go on in step.

Imports `volary.clusters`, `volary.engine`, `volary.analysis.metering` and `stages.webhooks`, no
other part of `stages`. Start reading at `contexts`, then `execution`, `cluster_changes` and
`outcomes`.
"""
