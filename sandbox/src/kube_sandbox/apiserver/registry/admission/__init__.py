"""What is done with a write beyond its kind's own rules: completed, limited, refused.

`chain` holds the plugins in their order: those that complete an object (`limit_ranges`,
`priorities`), then those that may refuse it (`namespaces`, `escalation`, `limit_ranges`,
`policies`, and last `quotas`, which charge what passed). `request` is what they are given,
`usage` what objects cost. May import `access`. Start reading at `chain`.
"""
