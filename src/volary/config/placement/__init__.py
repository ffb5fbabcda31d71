"""Where and when an application is deployed: waves, windows, overrides, spread and failover.

Modules named `*_sections` are fields whose form differs from the model's, the others read and
check what is written. May import
`config.stages` (gates of waves measure and call webhooks) and what is below it. Start at
`wave_rules.convert`.
"""
