"""The registered clusters: what they are, how they are, and what keeps applications away.

Words: *cluster health* is the state of one as probes have seen it, a *taint* keeps applications
away, a *selector* chooses clusters. Pure data and rules.

May import `model.objects`, `model.placement` and `model.metric_providers`. Start reading at
`fleets`.
"""
