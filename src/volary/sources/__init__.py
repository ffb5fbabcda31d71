"""A commit becomes manifests.

Words: a *source* is a repository, a commit and an application directory; a *tree* reads the
files of one commit, or of a plain directory as it is; to *render* is to make manifests of a
tree for one target (plain files, kustomize, or a Helm chart).

`trees` reads files, `application_discovery` finds application files in them, `git` holds
repositories and mirrors, `rendering` makes manifests.

Whatever is read comes from a repository that somebody else may write to: nothing here reads
outside the tree, reaches for the network, or runs a program with our environment.
Start reading at `rendering.renderers`.
"""
