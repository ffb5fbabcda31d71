"""One file for each stage that users write: a pure `plan` where there is something to decide,
and `run`.

A file is named after its stage, or after what its two stages do. Imports `runtime`, `rollouts`,
`traffic` and `judgement`; nothing but `stages.registry` and `stages.completion_hooks` imports a
stage, except stages that build on another one. Start reading at `primary_rollout`, then
`progressive_traffic`.
"""
