"""How many pods each cluster gets of a workload that is divided. Pure.

An *assignment* says who gets how much, and is kept from run to run; *division* is Karmada's
arithmetic, *capacity* what is free on a cluster's nodes, a *share* what one cluster gets. May
import `volary.manifests` and the model. Start at `assignment.assign`.
"""
