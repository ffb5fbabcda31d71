"""The clusters: what is known of each, how they are probed, and what people change about them.

Words: the *registry* keeps what is known before it counts and informs the pool; a *probe round*
asks every cluster once; a *survey* reads how one application is in its clusters. May import
`persistence`. Start reading at `cluster_registry`.
"""
