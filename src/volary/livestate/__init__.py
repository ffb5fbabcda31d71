"""Live state: what applications have in their clusters now, followed by watches that all share.

A *source* is a kind that is followed in a cluster; what is there of it is kept as *applied* objects
(they bear our labels, whole and packed) or as *children* (what controllers made of them: only what
a tree shows). A *view* is one application's tree in one cluster, built when somebody asks, with the
version of each of its nodes, so that only differences travel.

Imports the clients of clusters and the pure functions over objects. Start at `live_state`, which
is what others use; drift begins at `live_objects`.
"""
