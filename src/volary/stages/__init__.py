"""What each stage does on one cluster.

Words: a *context* is what a stage is given, its *work* what it has done so far, a *carrier*
an object that carries routes, *rendering* what a stage applies. One file per stage, each
with a pure `plan` where there is something to decide, and a short `run`.

Imports everything below but the sandbox. Start reading at `registry`, then `work`, then
`primary_rollout`; `executor` connects stages to the engine.
"""
