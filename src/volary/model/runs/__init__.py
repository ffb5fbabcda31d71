"""What is decided and remembered about a run, outside the engine.

Words: a *run plan* is the strategy with its stages and targets, a *run record* the plain form
in which the engine hands state to the store. Pure data.

May import `model.pipeline`, `model.statuses` and `model.json`. Start reading at `run_plans`.
"""
