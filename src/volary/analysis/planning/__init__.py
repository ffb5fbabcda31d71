"""Rules before they judge: simulated releases, and how a rule would do on them.

Releases are drawn with a seed, so the same come out again. Start reading at `rule_plans`.
"""
