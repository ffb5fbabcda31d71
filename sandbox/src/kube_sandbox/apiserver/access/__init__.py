"""Who asks, what for, and whether it is allowed.

A request passes `authentication` (whose token is it), `impersonation` (as whom does it act) and
`authorization` (may it be made), in this order. `request_info` reads method and path, `users` are
the accounts a server knows by token, `tokens` those of ServiceAccounts, `rbac` finds the rules of
a user in roles and bindings, `default_roles` are those of every cluster, `reviews` answers
questions about all that. `certificates` and `kubeconfig` are what clients trust and are given.
May import `apimachinery` and `storage`. Start reading at `authorization`.
"""
