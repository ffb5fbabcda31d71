"""What people write goes into the audit and to the leader without secrets."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from volary.controller import refusals
from volary.controller.api import representations
from volary.controller.api.commands import command_client
from volary.controller.persistence import change_signal, redaction
from volary.manifests import redaction as manifest_redaction
from volary.model import errors
from volary.store import factory, records

ANA = representations.Actor("ana", "192.0.2.7")
SAID = {"reason": "the token s3cr3t-word leaked", "cluster": "s3cr3t-word"}
AT = datetime(2030, 1, 1, tzinfo=UTC)
TOLD = {"reason": f"the token {manifest_redaction.MASK} leaked", "cluster": "s3cr3t-word"}


class StoppedClock:
    """Always the same moment."""

    def now(self) -> datetime:
        """Return it."""
        return AT


async def test_the_audit_is_without_secrets_and_requests_keep_names_as_they_are() -> None:
    clock, secrets, notify_all = (
        StoppedClock(),
        redaction.SecretValues(["s3cr3t-word"]),
        change_signal.ChangeSignal(),
    )
    async with factory.open_store("memory:", clock=clock) as store:
        audit = command_client.AuditLog(store, clock, secrets)
        await audit.write(
            records.AuditRecord(
                AT, "ana", "run.cancel", "failed", document={"refusal": "it says s3cr3t-word"}
            )
        )
        [refused] = (await store.audit.list(records.AuditFilter())).items
        assert refused.document == {"refusal": f"it says {manifest_redaction.MASK}"}
        asker = command_client.CommandClient(
            store, clock, asked=notify_all, kept=notify_all, make_id=lambda: "r1", secrets=secrets
        )

        with pytest.raises(refusals.Busy):
            async with audit.noting(ANA, "cluster.cordon", document=SAID):
                await asker.ask("cluster", "ana", document=SAID, patience=timedelta(milliseconds=1))

        [asked] = await store.requests.unanswered()
        assert asked.document == TOLD
        noted, _ = (await store.audit.list(records.AuditFilter())).items
        # Nothing goes on from an entry, so nothing in it has to be kept as it is.
        assert noted.document == {
            **TOLD,
            "cluster": manifest_redaction.MASK,
            "refusal": noted.document["refusal"],
        }


async def test_what_somebody_did_without_more_to_say_is_noted_as_well() -> None:
    async with factory.open_store("memory:", clock=StoppedClock()) as store:
        audit = command_client.AuditLog(store, StoppedClock(), redaction.SecretValues())

        async with audit.noting(ANA, "application.resume", application="shop"):
            pass
        with pytest.raises(errors.TemporaryError):
            async with audit.noting(ANA, "run.pause", application="shop", run="r1"):
                raise errors.TemporaryError("not now")
        await audit.write(records.AuditRecord(AT, "ana", "run.cancel", "denied"))

        denied, failed, done = (await store.audit.list(records.AuditFilter())).items
        assert (done.action, done.result, done.by, done.at) == (
            "application.resume",
            "ok",
            ANA.by,
            AT,
        )
        assert (done.source, done.application, done.run_id, done.document) == (
            ANA.source,
            "shop",
            "",
            {},
        )
        assert (failed.result, failed.run_id, failed.document) == (
            "failed",
            "r1",
            {"refusal": "not now"},
        )
        assert (denied.result, denied.application, denied.document) == ("denied", "", {})


async def test_an_answer_is_waited_for_and_a_refusal_is_a_conflict() -> None:
    asked, kept = change_signal.ChangeSignal(), change_signal.ChangeSignal()
    async with factory.open_store("memory:", clock=StoppedClock()) as store:
        ids = iter(("q1", "q2"))
        client = command_client.CommandClient(
            store,
            StoppedClock(),
            asked=asked,
            kept=kept,
            make_id=lambda: next(ids),
            secrets=redaction.SecretValues(),
        )

        async def answer(name: str, refusal: str) -> None:
            while not await store.requests.unanswered():
                await asked.wait(0.05)
            await store.requests.answer(name, refusal=refusal, fence=None)
            kept.notify_all()

        async with asyncio.TaskGroup() as group:
            group.create_task(answer("q1", ""))
            name = await client.ask("pause", "ana", application="shop", run="r1")
        assert name == "q1"
        request = await store.requests.get("q1")
        assert request is not None
        assert (
            request.kind,
            request.by,
            request.application,
            request.run_id,
            request.document,
        ) == (
            "pause",
            "ana",
            "shop",
            "r1",
            {},
        )
        async with asyncio.TaskGroup() as group:
            group.create_task(answer("q2", "it is paused already"))
            with pytest.raises(refusals.Conflict, match="it is paused already"):
                await client.ask("pause", "ana", application="shop")


async def test_a_key_is_its_owners_and_leads_to_one_request() -> None:
    clock, signal = StoppedClock(), change_signal.ChangeSignal()
    async with factory.open_store("memory:", clock=clock) as store:
        asker = command_client.CommandClient(
            store, clock, signal, signal, make_id=lambda: "r1", secrets=redaction.SecretValues()
        )

        async def ask(by: str, key: str, run: str = "r1", seconds: float = 0.001) -> None:
            said, patience = {"targets": ("us", "eu")}, timedelta(seconds=seconds)
            await asker.ask("retry", by, run=run, document=said, key=key, patience=patience)

        for by, key in (("ana", "k1"), ("ana", "k1"), ("ben", "k1"), ("ana", "k2")):
            with pytest.raises(refusals.Busy):
                await ask(by, key)
        with pytest.raises(refusals.Conflict, match="was used for another request"):
            await ask("ana", "k1", run="r2")

        waiting = await store.requests.unanswered()
        assert sorted(request.by for request in waiting) == ["ana", "ana", "ben"]
        first = next(request.id for request in waiting if request.by == "ben")
        await store.requests.answer(first, refusal="not now", fence=None)
        with pytest.raises(refusals.Conflict, match="not now"):
            await ask("ben", "k1", seconds=60)
