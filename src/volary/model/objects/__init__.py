"""Kubernetes objects as the domain sees them.

Words: a *manifest* is a desired object, a *resource key* its identity, *object
health* what it says about itself (kstatus), an *apply result* what applying or pruning did to
it. Pure data.

May import `model.errors`, `model.json` and `model.statuses`. Start reading at `manifest`.
"""
