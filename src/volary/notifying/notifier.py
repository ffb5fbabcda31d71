"""Notifications put together: what happened goes to whom the routes say."""

import logging
import uuid
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime

import aiohttp

from volary.engine.observers import feed
from volary.model import clocks, json, server_settings
from volary.model.runs import run_records
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
from volary.tenancy import membership

_LOG = logging.getLogger(__name__)
#: Why a receiver that is named is not told.
_UNLISTED = "which is not among the settings' notifications"
_REFUSED = "to which no route of its project leads"


def _new_id() -> str:
    return uuid.uuid4().hex


@dataclass(frozen=True, slots=True)
class StepNotices:
    """What a step of a run is notified with."""

    #: Kept in the step's own transaction.
    messages: tuple[run_records.OutboxMessage, ...]
    #: Messages that are there already are edited, but for those of the receivers notified.
    edits: tuple[tuple[notices.Notice, tuple[str, ...]], ...]
    #: How far the run has come with the step, and what was notified of last.
    progress: notices.Progress
    last: notices.Event


class Notifier:
    """Turns events into messages; nothing here waits for a receiver."""

    def __init__(
        self,
        settings: server_settings.Notifications,
        post: delivery.DeliveryQueue,
        *,
        new_id: Callable[[], str] = _new_id,
    ) -> None:
        self._settings = settings
        #: Which projects there are now: their routes count besides the settings'.
        self.projects: Callable[[], membership.Projects] = membership.Projects
        self._receivers = {receiver.name: receiver for receiver in settings.receivers}
        self._queue = post
        self._new_id = new_id
        self._missed: set[tuple[str, str]] = set()

    def of_run(
        self, subject: notices.Subject, progress: notices.Progress | None = None
    ) -> "RunNotifier":
        """Return who notifies of one run, which has come so far; nothing: it has not begun."""
        return RunNotifier(self, subject, progress or notices.Progress())

    def announce(
        self, event: notices.Event, subject: notices.Subject, at: datetime, reason: str = ""
    ) -> None:
        """Notify of something that is about no run, at once; `reason` has to be masked."""
        notice = notices.Notice(event, at, subject, notices.Progress(), reason)
        receivers = self.receivers(notice)
        for message in self.messages(notice, receivers, self._new_id()):
            self._queue.post(message)
        self.update(notice, notified=receivers)

    async def keep(self, notice: notices.Notice, name: str) -> None:
        """Notify of something before it is kept itself; its texts have to be masked.

        Who is killed in between does it again, under the same `name`, and so receivers can tell
        that they have it.

        Raises:
            errors.VolaryError: It cannot be kept now, or by this process.
        """
        receivers = self.receivers(notice)
        await self._queue.keep(self.messages(notice, receivers, name))
        self.update(notice, notified=receivers)

    def post(self, step: StepNotices) -> None:
        """Send what a step is notified with, which is kept by now."""
        for message in step.messages:
            self._queue.post(message, kept=True)
        for notice, notified in step.edits:
            self.update(notice, notified=notified)

    def receivers(self, notice: notices.Notice) -> tuple[str, ...]:
        """Return the receivers of a notice's routes."""
        chosen = routes.choose(self._settings.routes, notice, self.projects())
        receivers = tuple(name for name in chosen.receivers if name in self._receivers)
        application = notice.subject.application
        self._miss(application, set(chosen.receivers) - set(receivers), _UNLISTED)
        self._miss(application, chosen.refused, _REFUSED)
        return receivers

    def messages(
        self, notice: notices.Notice, receivers: Iterable[str], name: str
    ) -> tuple[run_records.OutboxMessage, ...]:
        """Return what receivers are sent about a notice, whose `name` is no other's."""
        made: list[run_records.OutboxMessage] = []
        for receiver_name in receivers:
            receiver = self._receivers[receiver_name]
            message = self._message(receiver, notice, f"{name}-{receiver_name}")
            made.append(message)
            slack = receiver.slack
            reply = messages.slack_reply(notice, slack) if slack and message.topic else ""
            if reply:
                made.append(replace(message, id=f"{message.id}-reply", body={}, reply=reply))
        return tuple(made)

    def _message(
        self, receiver: server_settings.Receiver, notice: notices.Notice, message_id: str
    ) -> run_records.OutboxMessage:
        topic = notice.subject.run if _edits(receiver) else ""
        return run_records.OutboxMessage(
            message_id, receiver.name, _body(receiver, notice), topic=topic
        )

    def _miss(self, application: str, names: Collection[str], why: str) -> None:
        """Say once for each application and receiver why it is not told."""
        for name in sorted(names):
            if (application, name) in self._missed:
                continue
            self._missed.add((application, name))
            _LOG.warning("%s names the receiver %s, %s", application, name, why)

    def update(self, notice: notices.Notice, *, notified: tuple[str, ...] = ()) -> None:
        """Edit the messages that are there about a run, but for those of receivers `notified`."""
        topic = notice.subject.run
        if not topic:
            return  # a notice about no run has no message that could be edited
        for receiver in self._receivers.values():
            if receiver.name in notified or not _edits(receiver):
                continue
            if self._queue.has_place(receiver.name, topic):
                self._queue.post(self._message(receiver, notice, self._new_id()))

    async def keep_delivering(self) -> None:
        """Deliver until cancelled."""
        await self._queue.keep_delivering()


@dataclass(slots=True)
class RunNotifier:
    """Follows one run."""

    notifier: Notifier
    subject: notices.Subject
    progress: notices.Progress = field(default_factory=notices.Progress)
    last: notices.Event = notices.Event.DEPLOYMENT_STARTED

    def prepare(self, told: Sequence[feed.RunEvent], version: int) -> StepNotices:
        """Return what a step is notified with: redacted events, and the version it leads to.

        The same step gives the same messages under the same ids. A step that is not kept leaves
        no trace here.
        """
        progress, last = self.progress, self.last
        sent: list[run_records.OutboxMessage] = []
        edits: list[tuple[notices.Notice, tuple[str, ...]]] = []
        for position, event in enumerate(told):
            before, progress = progress, run_progress.advance(progress, event)
            happened = run_progress.event_to_send(before, event)
            if happened is None and progress == before:
                continue
            last = happened or last
            notice = self._notice(event, progress, last)
            receivers: tuple[str, ...] = ()
            if happened:
                receivers = self.notifier.receivers(notice)
                name = f"{self.subject.run}-{version}-{position}"
                sent += self.notifier.messages(notice, receivers, name)
            edits.append((notice, receivers))
        return StepNotices(tuple(sent), tuple(edits), progress, last)

    def post(self, step: StepNotices) -> None:
        """Send what `prepare` returned, once the step is kept."""
        self.progress, self.last = step.progress, step.last
        self.notifier.post(step)

    def _notice(
        self, event: feed.RunEvent, progress: notices.Progress, last: notices.Event
    ) -> notices.Notice:
        # A single cluster's reason is not that of the whole.
        alone = isinstance(event, feed.TaskEvent)
        reason = "" if alone else str(getattr(event, "reason", ""))
        stage = event.stage_name if isinstance(event, feed.StageEvent) else ""
        return notices.Notice(last, event.at, self.subject, progress, reason, stage)


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
        queue = delivery.DeliveryQueue(senders_by_name, box, limits)
        yield Notifier(settings, queue)


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
