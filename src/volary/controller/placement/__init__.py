"""The loops that submit runs by themselves after each probe round, and rebalancing on request.

`failover_loop` moves applications off lost clusters, `backfill_loop` brings the last completed
release to clusters that missed it. What they decide is pure (`volary.placement`,
`backfill_rules`); a decision is stored before anything follows from it. May import
`applications`, `runs`, `leadership`, `planning` and `status`. Start reading at `failover_loop`.
"""
