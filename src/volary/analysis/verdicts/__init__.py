"""From measurements to a verdict, with its numbers and a sentence. Pure.

A *look* is what was seen at one moment (as in group-sequential tests), a *cell* one cluster at
a look with a *sample* of both sides; a *check* judges one look, a *verdict* all so far. Imports
`statistics` and `volary.model`. Start reading at `rule_verdicts` (one rule on one cluster),
then `fleet_verdicts`.
"""
