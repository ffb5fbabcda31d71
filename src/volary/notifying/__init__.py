"""Notifications about runs, clusters and failover: Slack, other chats, and signed webhooks.

Words: a *notice* is one event and what it is about; the *outbox* holds messages that are not
delivered yet, `delivery` sends them with retries. `routes`, `notices`, `messages` and
`run_progress` are pure. May import `engine.observers.feed` and `model`. Start with `notifier`.
"""
