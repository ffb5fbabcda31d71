"""The mathematics: tails and intervals of counts and ranks, tests that may be repeated at
every look. Pure.

A *block* is one cluster at one look; only differences within a block are added up. Imports
`volary.model` only. Start reading at `ranks` and `counts`, then `sequential`.
"""
