"""Drift: comparing clusters with Git while no run is under way, saying so, and repairing it.

`comparer` asks the clusters, for the loop and for people alike; `comparisons` are its answers;
`drift_loop` writes down what changed and asks for repairs, where `repair_rules` allow it.

Imports `placement` and what is below it. Start at `drift_loop`.
"""
