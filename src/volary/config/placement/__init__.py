"""Where and when an application is deployed: waves, windows, overrides, spread and failover.

Modules named `*_sections` are the fields, the others read them into `volary.model`. May import
`config.stages` (gates of waves measure and call webhooks) and what is below it. Start at
`wave_rules.convert`.
"""
