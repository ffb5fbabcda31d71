"""Workspace files: the namespaces of a team on its clusters, who may do what there, and the bounds.

May import `config.text` and `config.decoding`. Start at `workspace_files.read`.
"""
