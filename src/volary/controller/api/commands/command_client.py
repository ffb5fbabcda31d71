"""Commands of people on their way to the leader, and into the audit.

A request is written down first; the leader takes it from there and writes its
answer back. So it does not matter which process a person connects to, and a request that was
taken is not lost when a process dies. What a person wrote is kept without the secrets we know.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta

import msgspec

from volary.controller import refusals
from volary.controller.api import representations
from volary.controller.persistence import change_signal, redaction
from volary.engine.observers import redaction as event_redaction
from volary.model import clocks, errors, json
from volary.model.runs import run_records
from volary.store import records, stores

#: How long an answer is waited for: longer than another process needs to take over.
PATIENCE = timedelta(seconds=20)
_POLL_SECONDS = 0.25
_REFUSAL = "refusal"
_NOTHING = object()


@dataclass(slots=True)
class Change:
    """How something was before and after a command, as far as that is worth a line."""

    before: json.JsonObject = field(default_factory=dict)
    after: json.JsonObject = field(default_factory=dict)

    def differences(self) -> tuple[json.JsonObject, json.JsonObject]:
        """Return what was and what is, only of what is not the same."""
        changed = [
            key
            for key in dict.fromkeys((*self.before, *self.after))
            if self.before.get(key, _NOTHING) != self.after.get(key, _NOTHING)
        ]
        before, after = (
            {key: document[key] for key in changed if key in document}
            for document in (self.before, self.after)
        )
        return before, after


@dataclass(frozen=True, slots=True)
class AuditLog:
    """The one place that writes the audit."""

    store: stores.Store
    clock: clocks.Clock
    secrets: redaction.SecretValues

    @asynccontextmanager
    async def noting(
        self,
        asker: representations.Actor,
        action: str,
        *,
        application: str = "",
        project: str = "",
        run: str = "",
        document: json.JsonObject | None = None,
    ) -> AsyncIterator[Change]:
        """Note what is done in the block, and how it ended; an exception goes on.

        The block says in the change it is given how things were before and are after it; of what
        was refused nothing is noted as changed.
        """
        said, change = dict(document or {}), Change()
        if application and not project:
            # As it is before: what is done may make the application go, or another team's.
            known = await self.store.applications.get(application)
            project = known.project if known else ""
        refused: errors.VolaryError | None = None
        try:
            yield change
        except errors.VolaryError as error:
            said[_REFUSAL], refused = _short(error), error
        before, after = ({}, {}) if refused else change.differences()
        await self.write(
            records.AuditRecord(
                at=self.clock.now(),
                by=asker.by,
                action=action,
                result="failed" if refused else "ok",
                source=asker.source,
                application=application,
                project=project,
                run_id=run,
                document=said,
                before=before,
                after=after,
            )
        )
        if refused is not None:
            raise refused

    async def write(self, entry: records.AuditRecord) -> None:
        """Append an entry, without secrets in any of its texts."""
        masker = self.secrets.masker(entry.application)
        document, before, after = (
            event_redaction.clean_everything(masker, part)
            for part in (entry.document, entry.before, entry.after)
        )
        await self.store.audit.write(replace(entry, document=document, before=before, after=after))


@dataclass(frozen=True, slots=True)
class CommandClient:
    """Hands requests over and waits for their answers."""

    store: stores.Store
    clock: clocks.Clock
    #: Signals when a request was submitted.
    asked: change_signal.ChangeSignal
    #: Signals when something was stored, such as an answer.
    kept: change_signal.ChangeSignal
    make_id: Callable[[], str]
    secrets: redaction.SecretValues

    async def ask(
        self,
        kind: str,
        by: str,
        *,
        application: str = "",
        run: str = "",
        document: json.JsonObject | None = None,
        key: str = "",
        patience: timedelta = PATIENCE,
    ) -> str:
        """Submit a command to the leader, and return its id once it was accepted.

        Under a `key` that this person used before it is not submitted again: the first one's
        answer is waited for, so whoever does not know whether they were heard just asks again.

        Raises:
            refusals.Conflict: It was refused, or the key was used for something else; says why.
            refusals.Busy: It is written down, but nobody has answered in time.
        """
        request = records.RequestRecord(
            id=_id_of(by, key) if key else self.make_id(),
            kind=kind,
            by=by,
            at=self.clock.now(),
            application=application,
            run_id=run,
            document=event_redaction.clean_document(
                self.secrets.masker(application), document or {}
            ),
        )
        if not await self.store.requests.ask(request):
            await self._check_same(request)
        self.asked.notify_all()
        try:
            async with asyncio.timeout(patience.total_seconds()):
                answered = await self._answer(request.id)
        except TimeoutError:
            raise refusals.Busy(
                "the request is kept, but there is no leader at the moment; look again later"
            ) from None
        if answered.refusal:
            raise refusals.from_text(answered.refusal)
        return request.id

    async def has_asked(self, by: str, key: str, application: str) -> bool:
        """Say whether a person asked for something about an application under a key before.

        What was asked for is known longer than the application, should it be forgotten.
        """
        known = await self.store.requests.get(_id_of(by, key)) if key else None
        return known is not None and known.application == application

    async def _check_same(self, request: records.RequestRecord) -> None:
        """Refuse a key under which something else was asked for before.

        Raises:
            refusals.Conflict: It was.
        """
        first = await self.store.requests.get(request.id)
        if first is not None and first.unreadable:
            raise refusals.conflict(
                f"what was asked for under this Idempotency-Key cannot be read: {first.unreadable}",
                hint="use a new key",
            )
        if first is not None and _asked_for(first) != _asked_for(request):
            raise refusals.conflict(
                "this Idempotency-Key was used for another request",
                hint="use a new key for each request, and the same one to ask again",
            )

    async def _answer(self, request_id: str) -> run_records.RequestAnswer:
        while True:
            answer = await self.store.requests.answer_of(request_id)
            if answer is not None:
                return answer
            await self.kept.wait(_POLL_SECONDS)


def _id_of(by: str, key: str) -> str:
    """Return the id of what a person asks for under a key: short, as a run may get it."""
    return hashlib.blake2b(f"{by}\0{key}".encode(), digest_size=6).hexdigest()


def _asked_for(request: records.RequestRecord) -> tuple[object, ...]:
    # As JSON: what was read from the database has lists for tuples.
    document = msgspec.json.encode(request.document, order="sorted")
    return (request.by, request.kind, request.application, request.run_id, document)


def _short(error: errors.VolaryError) -> str:
    if isinstance(error, errors.UserError):
        first: errors.Problem = error.problems[0]
        return first.message
    return str(error)
