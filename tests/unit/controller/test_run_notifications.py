"""What people are told about a run before its feed says anything."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import cast

from fixed_clock import FixedClock
from volary.clusters.client import client_pool
from volary.controller import inputs, notifications
from volary.controller.persistence import redaction as secrets
from volary.controller.runs import ready_runs
from volary.controller.status import application_statuses, run_origins, run_requests
from volary.engine.runs import run_builder
from volary.manifests import redaction
from volary.model import applications, statuses
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages
from volary.notifying import notices, notifier
from volary.store import records

AT = datetime(2026, 1, 1, tzinfo=UTC)
SECRET = "hunter2-hunter2"
MENTION = applications.Mention("*", ("U1",), ())
ALERT = applications.Alert("team", "on-call", ("DEPLOYMENT_FAILED",))
STATUS = application_statuses.ApplicationStatus(mentions=(MENTION,), alerts=(ALERT,))
SHOP = records.ApplicationRecord(
    "shop", labels={"team": "web"}, document=application_statuses.to_document(STATUS)
)
REQUEST = run_requests.RunRequest(
    "r1", "c1", run_requests.KindName.RELEASE, f"because of {SECRET}", AT, by=f"ana {SECRET}"
)


@dataclass
class Told(notifier.Notifier):
    """Remembers notices instead of sending them."""

    announced: list[notices.Notice] = field(default_factory=list)
    updated: list[notices.Notice] = field(default_factory=list)

    names: list[str] = field(default_factory=list)

    async def keep(self, notice: notices.Notice, name: str) -> None:
        self.announced.append(notice)
        self.names.append(name)

    def update(self, notice: notices.Notice, *, told: tuple[str, ...] = ()) -> None:
        self.updated.append(notice)


def dependencies() -> ready_runs.Dependencies:
    """Return what has a clock and knows a secret; nothing is opened."""
    nothing = cast("inputs.Repositories", None)
    clusters = cast("client_pool.ClientPool", None)
    known = secrets.SecretValues((SECRET,))
    return ready_runs.Dependencies(nothing, clusters, FixedClock(), secrets=known)


async def test_a_request_is_told_with_who_asked_and_why_without_secrets() -> None:
    told, given = Told(), dependencies()

    event = notices.Event.DEPLOYMENT_TRIGGERED
    await notifications.requested(told, given, REQUEST, SHOP, event, REQUEST.reason)

    (notice,) = told.announced
    assert (notice.event, notice.at) == (notices.Event.DEPLOYMENT_TRIGGERED, given.clock.now())
    assert notice.reason == "because of *****"
    assert notice.subject == notices.Subject(
        "shop",
        "r1",
        {"team": "web"},
        "c1",
        by="ana *****",
        mentions=(MENTION,),
        alerts=(ALERT,),
    )


async def test_a_refusal_says_why() -> None:
    told = Told()

    event = notices.Event.DEPLOYMENT_TRIGGER_FAILED
    await notifications.requested(told, dependencies(), REQUEST, SHOP, event, f"no {SECRET}")

    (notice,) = told.announced
    assert notice.event is notices.Event.DEPLOYMENT_TRIGGER_FAILED
    assert (notice.reason, notice.subject.run) == ("no *****", "r1")
    # The same each time, so that a receiver can tell that it has it.
    assert told.names == ["r1-deployment_trigger_failed"]


async def test_a_request_that_is_settled_only_edits_what_was_said() -> None:
    told = Told()

    event = notices.Event.DEPLOYMENT_CANCELLED
    await notifications.requested(
        told, dependencies(), REQUEST, SHOP, event, f"superseded by {SECRET}"
    )

    (notice,) = told.updated
    assert told.announced == []
    assert notice.event is notices.Event.DEPLOYMENT_CANCELLED
    assert notice.progress == notices.Progress(statuses.RunStatus.CANCELLED, "superseded by *****")


async def test_a_run_is_told_with_its_strategy_and_clusters() -> None:
    told, masker = Told(), redaction.Masker((SECRET,))
    sync = pipelines.Stage(rollout_stages.SYNC.name, rollout_stages.SyncOptions())
    spec = run_builder.RunSpec("shop", "c1", run_builder.one_group(("us", "eu")), (sync,))
    origin = run_origins.Origin(
        "shop", "volary.yaml", subject=f"Use {SECRET}", by="ana", summary=f"quick, for {SECRET}"
    )
    ready = ready_runs.ReadyRun(
        run_builder.new_run("r1", spec, AT),
        cast("ready_runs.Performer", None),
        masker,
        origin,
    )

    await notifications.planned(told, dependencies(), ready, SHOP)

    (notice,) = told.announced
    assert (notice.event, notice.reason) == (notices.Event.DEPLOYMENT_PLANNED, "quick, for *****")
    assert notice.subject == replace(
        notices.Subject("shop", "r1", {"team": "web"}, "c1", "Use *****", "ana", ("us", "eu")),
        mentions=(MENTION,),
        alerts=(ALERT,),
    )
