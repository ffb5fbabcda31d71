"""What people write goes into the audit and to the leader without secrets."""

from datetime import UTC, datetime, timedelta

import pytest

from volary.controller import refusals
from volary.controller.api import command_client, representations
from volary.controller.persistence import change_signal
from volary.manifests import redaction
from volary.store import factory, records

ANA = representations.Actor("ana", "192.0.2.7")
SAID = {"reason": "the token s3cr3t-word leaked", "cluster": "s3cr3t-word"}
AT = datetime(2030, 1, 1, tzinfo=UTC)
TOLD = {"reason": f"the token {redaction.MASK} leaked", "cluster": "s3cr3t-word"}


class StoppedClock:
    """Always the same moment."""

    def now(self) -> datetime:
        """Return it."""
        return AT


async def test_sentences_are_kept_without_secrets_and_names_as_they_are() -> None:
    clock, masker, notify_all = (
        StoppedClock(),
        redaction.Masker(["s3cr3t-word"]),
        change_signal.ChangeSignal(),
    )
    async with factory.open_store("memory:", clock=clock) as store:
        audit = command_client.AuditLog(store, clock, masker)
        asker = command_client.CommandClient(
            store, clock, asked=notify_all, kept=notify_all, make_id=lambda: "r1", masker=masker
        )

        with pytest.raises(refusals.Busy):
            async with audit.noting(ANA, "cluster.cordon", document=SAID):
                await asker.ask("cluster", "ana", document=SAID, patience=timedelta(milliseconds=1))

        [asked] = await store.requests.unanswered()
        assert asked.document == TOLD
        [noted] = (await store.audit.list(records.AuditFilter())).items
        assert noted.document == {**TOLD, "refusal": noted.document["refusal"]}
