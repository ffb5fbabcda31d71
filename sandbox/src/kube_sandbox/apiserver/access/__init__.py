"""Who asks, what for, and whether it is allowed.

`request_info` reads method and path, `users` are bearer tokens and their permissions, `reviews`
answers questions about them, `certificates` and `kubeconfig` are what clients trust and are
given. May import `apimachinery`.
"""
