"""The kinds of runs, a file for each: release, rollback, move, backfill.

Each file has a class that says how a run of its kind is prepared from a run request, and what
its beginning, its end or a refusal means for the application's status (`run_kinds.RunKind`); the
kind is kept with the run. Only preparing reads anything; the rest is pure. May import `planning`,
`status` and `persistence`. Start reading at `run_kinds`, then `releases`.
"""
