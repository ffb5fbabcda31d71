"""Decides in which order stages and tasks happen, and has them carried out.

Words: a *run* is one execution of a plan; a *stage* a step of it; a *task* one stage
on one cluster; a *group* the targets that move together. An *event* happens to a run
(`events`), a *command* is what a runner has to do about it (`commands`), an *order*
the derivation of commands from two states. Observers read the *feed*.

Pure: `runs` (a run as a value), `state_machine` (what happens next) and most of `observers`.
`execution` carries commands out in this process through an `executor.StageExecutor`. Start
reading at `state_machine.machine`, which holds the rules.
"""
