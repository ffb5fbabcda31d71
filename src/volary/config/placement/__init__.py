"""Where and when an application is deployed: waves, windows, overrides, spread and failover.

Each module has the fields whose form differs from the model's, and checks what is
written. May import
`config.stages` (gates of waves measure and call webhooks) and what is below it. Start at
`wave_rules.convert`.
"""
