"""Carries out a run in this process: the imperative part of the engine.

Words: the *runner* takes events one after another and starts tasks, a *journal* keeps each step
before its commands are carried out, a *task reporter* passes on what a task says. May import
every other package of the engine except `engine.persistence`. Start reading at `runners`.
"""
