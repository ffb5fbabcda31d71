"""Everything of the controller on one event loop, in virtual time, in an order that a seed decides.

Words: a *place* is what fails as one: a process, the database's server, a cluster, a person. A
place is killed, paused or cut off from another between any two steps of the program, and what is
said between places takes time and may be lost. The same seed makes the same run.

Start reading at `world`; `test_simulation.py` beside it says how to replay a seed.
"""
