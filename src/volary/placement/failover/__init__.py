"""On which of its clusters an application is, and when it leaves one. Pure.

An *eviction* is an application on its way off a cluster (Karmada: a graceful eviction task), a
*move plan* what a run does for it; `eviction_limits` closes everything when the controller
itself may be cut off (Kubernetes: the node lifecycle controller). May import the model and
`config.crosscheck.eligibility`. Start at `situations`, then `decisions.decide`.
"""
