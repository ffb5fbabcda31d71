"""Measurements, given as ratios against something measured in the same run.

`python -m benchmarks` writes ``README.md`` beside this file. Every candidate works in a
process of its own, against one sandbox in another, so that CPU time is that of the
candidate alone. Start reading in `__main__`.

Words: a *candidate* is a way to bring the objects into the clusters; a *pass* is one time of
doing so, first or unchanged; the *floor* is what nobody can be quicker than with the same
HTTP library.
"""
