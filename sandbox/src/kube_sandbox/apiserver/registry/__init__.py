"""The verbs of one cluster, in this process: what HTTP handlers and controllers both call.

`registry.Registry` is the entry. `writing` is the common path of all writes: `reading` decodes
and validates what was sent, `strategies` fill in what the server itself adds, `admission` says
whether the namespace takes it. May import `apimachinery` and `apiserver.storage`.
"""
