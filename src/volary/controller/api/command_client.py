"""Commands of people on their way to the leader, and into the audit.

A request is written down first; the leader takes it from there and writes its
answer back. So it does not matter which process a person connects to, and a request that was
taken is not lost when a process dies. What a person wrote is kept without the secrets we know.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta

import msgspec

from volary.controller import refusals
from volary.controller.api import representations
from volary.controller.persistence import change_signal, redaction
from volary.model import clocks, errors, json
from volary.store import records, stores

#: How long an answer is waited for: longer than another process needs to take over.
PATIENCE = timedelta(seconds=20)
_POLL_SECONDS = 0.25
_REFUSAL = "refusal"


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
        run: str = "",
        document: json.JsonObject | None = None,
    ) -> AsyncIterator[None]:
        """Note what is done in the block, and how it ended; an exception goes on."""
        said = dict(document or {})
        refused: errors.VolaryError | None = None
        try:
            yield
        except errors.VolaryError as error:
            said[_REFUSAL], refused = _short(error), error
        await self.write(
            records.AuditRecord(
                at=self.clock.now(),
                by=asker.by,
                action=action,
                result="failed" if refused else "ok",
                source=asker.source,
                application=application,
                run_id=run,
                document=said,
            )
        )
        if refused is not None:
            raise refused

    async def write(self, entry: records.AuditRecord) -> None:
        """Append an entry, without secrets in its sentences."""
        document = redaction.clean_document(
            self.secrets.masker(entry.application), entry.document, also=frozenset({_REFUSAL})
        )
        await self.store.audit.write(replace(entry, document=document))


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
            document=redaction.clean_document(self.secrets.masker(application), document or {}),
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
        if first is not None and _asked_for(first) != _asked_for(request):
            raise refusals.conflict(
                "this Idempotency-Key was used for another request",
                hint="use a new key for each request, and the same one to ask again",
            )

    async def _answer(self, request_id: str) -> records.RequestRecord:
        while True:
            request = await self.store.requests.get(request_id)
            if request is not None and request.answered is not None:
                return request
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
