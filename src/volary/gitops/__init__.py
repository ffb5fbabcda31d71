"""GitOps: what a change in a repository means for applications.

Words: a *trigger* is the reason to start a run; a *push event* is what a webhook says, and only
brings the next poll forward. `triggers` and `webhooks` are pure; `watcher`
polls repositories. May import `sources` and the pure packages below. Start with `triggers`.
"""
