"""Carries runs out with Temporal: the same machine, in a workflow, on any number of workers.

Words: the *run workflow* holds a run and decides, *activities* keep its steps and carry out its
tasks, a *hosted run* is what a process has of a run whose activities it takes, a *lease* says how
long an activity may write. Only this package imports `temporalio` (the extra ``temporal``).
Start reading at `workflows`, then `activities`.
"""
