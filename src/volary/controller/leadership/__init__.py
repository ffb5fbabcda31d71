"""Which process is the leader, and what everything shares while this one is.

Words: the *election* holds a lease with a fencing number (its term); the *context* lives from
winning the lease to losing it. May import `runs`, `planning`, `fleet` and `persistence`. Start
reading at `election`.
"""
