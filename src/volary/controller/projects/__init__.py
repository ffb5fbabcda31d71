"""Which projects there are now: from files beside the settings, and from a repository.

May import `config`, `gitops`, `store`, `tenancy` and the controller's `persistence`. Start at
`project_registry`.
"""
