"""Git drives: what a change in a repository means for applications.

Words: a *trigger* is the reason to start a run; a *hint* is a webhook's word that a
repository has changed, which only hastens the next look. `triggers` and `webhooks`
are pure; `watcher` looks at repositories. Imports `sources` and the pure
rooms below. Start reading at `triggers`.
"""
