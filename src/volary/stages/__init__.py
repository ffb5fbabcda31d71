"""What each stage does on one cluster.

`kinds` holds one file for each stage; `runtime` is what they are given, `rollouts` and
`traffic` what they do to a cluster, `judgement` what they measure. `registry` joins names and
stages, `executor` connects them to the engine, `completion_hooks` is what follows a stage,
`webhooks` and `processes` are the way out.

Imports everything below. Start reading at `registry`, then `runtime.execution`, then
`kinds.primary_rollout`.
"""
