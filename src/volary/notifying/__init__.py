"""Telling people and programs how runs go: Slack, and signed webhooks.

`routes`, `following` and `messages` decide and are pure; `courier`, `senders` and `outbox`
deliver; `notifier` puts them together. A run never waits for any of it.
"""
