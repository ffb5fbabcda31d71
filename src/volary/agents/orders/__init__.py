"""Orders of the controller to agents: signed, and what they need sealed for one of them. Pure.

Words: an *order* names a run, a cluster and an *artifact* by the hash of its bytes; an artifact is
*sealed* for the keys of an agent. Start reading at `orders`.
"""
