"""Notifications about runs, clusters and failover: Slack, other chats, and signed webhooks.

Words: a *notice* is one event to tell; the *outbox* holds messages that are not delivered yet,
`delivery` sends them with retries. `routes`, `notices`, `messages` and `run_progress` are pure.
May import `engine.feed` and `model`. Start with `notifier`.
"""
