"""Notifications put together: what happened goes to whom the routes say."""

import logging
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime

import aiohttp

from volary.engine.observers import feed
from volary.model import clocks, json, server_settings
from volary.notifying import (
    chats,
    delivery,
    messages,
    notices,
    outbox,
    routes,
    run_progress,
    senders,
)

_LOG = logging.getLogger(__name__)


def _new_id() -> str:
    return uuid.uuid4().hex


class Notifier:
    """Turns events into messages; every method returns at once and fails nothing."""

    def __init__(
        self,
        settings: server_settings.Notifications,
        post: delivery.DeliveryQueue,
        *,
        new_id: Callable[[], str] = _new_id,
    ) -> None:
        self._settings = settings
        self._receivers = {receiver.name: receiver for receiver in settings.receivers}
        self._queue = post
        self._new_id = new_id
        self._missed: set[tuple[str, str]] = set()

    def observer(self, subject: notices.Subject) -> feed.Observer:
        """Return an observer of one run; it has to be given redacted events."""
        return _RunObserver(self, subject)

    def announce(
        self, event: notices.Event, subject: notices.Subject, at: datetime, reason: str = ""
    ) -> None:
        """Notify of something that happens outside of a run's feed; `reason` has to be masked."""
        notice = notices.Notice(event, at, subject, notices.Progress(), reason)
        self.update(notice, notified=self.send(notice))

    def send(self, notice: notices.Notice) -> tuple[str, ...]:
        """Send a notice to the receivers of its routes, and return them."""
        named = routes.receivers(self._settings.routes, notice)
        receivers = tuple(name for name in named if name in self._receivers)
        for name in receivers:
            self._post(self._receivers[name], notice)
        self._miss(notice.subject.application, set(named) - set(receivers))
        return receivers

    def _miss(self, application: str, names: set[str]) -> None:
        """Say once for each application and receiver that the settings do not have it."""
        for name in sorted(names):
            if (application, name) in self._missed:
                continue
            self._missed.add((application, name))
            _LOG.warning(
                "%s names the receiver %s, which is not among the settings' notifications",
                application,
                name,
            )

    def update(self, notice: notices.Notice, *, notified: tuple[str, ...] = ()) -> None:
        """Edit the messages that are there about a run, but for those of receivers `notified`."""
        topic = notice.subject.run
        if not topic:
            return  # a notice about no run has no message that could be edited
        for receiver in self._receivers.values():
            if receiver.name in notified or not _edits(receiver):
                continue
            if self._queue.has_place(receiver.name, topic):
                self._post(receiver, notice, notified=False)

    async def keep_delivering(self) -> None:
        """Deliver until cancelled."""
        await self._queue.keep_delivering()

    def _post(
        self, receiver: server_settings.Receiver, notice: notices.Notice, *, notified: bool = True
    ) -> None:
        slack, name = receiver.slack, receiver.name
        topic = notice.subject.run if _edits(receiver) else ""
        self._queue.post(
            outbox.OutboxMessage(self._new_id(), name, _body(receiver, notice), topic=topic)
        )
        reply = messages.slack_reply(notice, slack) if slack and topic and notified else ""
        if reply:
            message = outbox.OutboxMessage(self._new_id(), name, {}, topic=topic, reply=reply)
            self._queue.post(message)


@dataclass(slots=True)
class _RunObserver:
    """Follows one run."""

    notifier: Notifier
    subject: notices.Subject
    progress: notices.Progress = field(default_factory=notices.Progress)
    last: notices.Event = notices.Event.DEPLOYMENT_STARTED

    def notify(self, event: feed.RunEvent) -> None:
        """Take one event of the feed."""
        before = self.progress
        self.progress = run_progress.advance(before, event)
        sent = run_progress.event_to_send(before, event)
        if sent is None and self.progress == before:
            return
        self.last = sent or self.last
        notice = self._notice(event)
        notified = self.notifier.send(notice) if sent else ()
        self.notifier.update(notice, notified=notified)

    def _notice(self, event: feed.RunEvent) -> notices.Notice:
        # A single cluster's reason is not that of the whole.
        alone = isinstance(event, feed.TaskEvent)
        reason = "" if alone else str(getattr(event, "reason", ""))
        stage = event.stage_name if isinstance(event, feed.StageEvent) else ""
        return notices.Notice(self.last, event.at, self.subject, self.progress, reason, stage)


def _body(receiver: server_settings.Receiver, notice: notices.Notice) -> json.JsonObject:
    if receiver.slack is not None:
        return messages.slack(notice, receiver.slack)
    for kind in receiver.chats:
        return chats.body(notice, kind)
    return messages.webhook(notice)


def _edits(receiver: server_settings.Receiver) -> bool:
    """Say whether a receiver's messages can be edited: only those of a bot."""
    return receiver.slack is not None and bool(receiver.slack.oauth_token_file)


@asynccontextmanager
async def open_notifier(
    settings: server_settings.Notifications,
    box: outbox.Outbox,
    clock: clocks.Clock,
    *,
    slack_api: str = senders.SLACK,
    limits: delivery.Limits | None = None,
) -> AsyncIterator[Notifier]:
    """Open a notifier; its connections are closed at the end."""
    async with aiohttp.ClientSession() as session:
        senders_by_name: dict[str, senders.Sender] = {}
        for receiver in settings.receivers:
            sender = _sender(receiver, session, clock, slack_api)
            if sender is not None:
                senders_by_name[receiver.name] = sender
        yield Notifier(settings, delivery.DeliveryQueue(senders_by_name, box, limits))


def _sender(
    receiver: server_settings.Receiver,
    session: aiohttp.ClientSession,
    clock: clocks.Clock,
    slack_api: str,
) -> senders.Sender | None:
    if receiver.webhook is not None:
        return senders.WebhookSender(session, receiver.webhook, clock)
    for chat in receiver.chats.values():
        return senders.IncomingWebhookSender(session, clock, chat.hook_url_file)
    if receiver.slack is None:
        return None
    if _edits(receiver):
        return senders.SlackBotSender(session, clock, receiver.slack, slack_api)
    return senders.IncomingWebhookSender(session, clock, receiver.slack.hook_url_file)
