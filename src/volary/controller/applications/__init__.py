"""The reconcilers of all applications: one loop for each, one run at a time.

Words: the *registry* has the reconcilers and says which file leads to which; a *reconciler*
makes runs of run requests; the *state writer* stores what came of them; a *run session* is a
run under way with its writers and observers. May import `leadership`, `runs`, `status` and
`persistence`. Start reading at `reconcilers`.
"""
