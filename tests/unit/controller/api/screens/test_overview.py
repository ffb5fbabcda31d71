"""What the first screen says, from values alone."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest
from msgspec import structs

from volary.controller.api import cluster_service
from volary.controller.api.screens import overview
from volary.controller.status import run_origins
from volary.engine.observers import explanations
from volary.engine.runs import policies, run_builder, state
from volary.engine.state_machine import events, machine
from volary.model import statuses
from volary.model.fleet import fleets
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages, stage_kind
from volary.model.runs import run_records
from volary.store import records

AT = datetime(2026, 1, 1, tzinfo=UTC)
STAGES = (
    pipelines.Stage(rollout_stages.CANARY_ROLLOUT.name, rollout_stages.VariantRolloutOptions()),
    pipelines.Stage(rollout_stages.PRIMARY_ROLLOUT.name, rollout_stages.PrimaryRolloutOptions()),
)
LINE = overview.ApplicationLine(
    "shop",
    status="running",
    run="r1",
    running_commit="old",
    commits={"us": "old", "eu": "old"},
    clusters=frozenset({"us", "eu"}),
)
HOLD = policies.Policy(on_failure=policies.OnFailure.HOLD)


def begun(rule: policies.ApprovalRule | None = None, *told: events.Event) -> state.Run:
    groups = (run_builder.Group(("us", "eu"), "first", 0, rule),)
    made = run_builder.RunSpec("shop", "new", groups, STAGES, "old", HOLD)
    run = run_builder.new_run("r1", made, AT)
    for event in (events.Start(AT), *told):
        run = machine.advance(run, event).run
    return run


def ended(
    run: state.Run, cluster: str, status: statuses.TaskStatus = statuses.TaskStatus.SUCCEEDED
) -> state.Run:
    outcome = statuses.Outcome(status, "so it was", touched=True)
    event = events.TaskFinished(AT, run.current.id, cluster, 1, outcome)
    return machine.advance(run, event).run


def summary_of(run: state.Run, **more: object) -> records.RunSummary:
    head = run_records.RunHead(
        run.id, run.application, run.status, run.reason, run.commit, "old", AT, AT, run.finished
    )
    origin = run_origins.to_document(
        run_origins.Origin("shop", "volary.yaml", subject="Bigger cache", targets=run.targets)
    )
    return replace(records.RunSummary(head, 1, origin), **more)


def test_an_approval_says_what_explain_says_and_since_when() -> None:
    run = begun(policies.ApprovalRule(count=2, approvers=("sre",), timeout=timedelta(hours=1)))

    needed = overview.attention_of(LINE, summary_of(run), run)

    assert needed is not None
    assert (needed.kind, needed.run, needed.clusters) == ("approval", "r1", ("us", "eu"))
    assert needed.sentence == explanations.waiting_reason(run)
    assert needed.sentence.endswith("awaiting approval: 0 of 2 (approvers: sre)")
    assert needed.since == AT
    assert needed.command == explanations.next_commands(run)[0]


def test_a_held_run_names_the_clusters_that_failed() -> None:
    run = ended(ended(begun(), "us"), "eu", statuses.TaskStatus.FAILED)

    needed = overview.attention_of(LINE, summary_of(run), run)

    assert needed is not None
    assert (needed.kind, needed.clusters) == ("held", ("eu",))
    assert needed.command.startswith("volary retry r1 ")


def test_a_paused_run_and_a_paused_application_say_who_did_it() -> None:
    run = begun(None, events.PauseAsked(AT, "ana", "lunch"))
    pause = state.Pause("bo", AT, "holidays")

    of_run = overview.attention_of(LINE, summary_of(run), run)
    of_application = overview.attention_of(replace(LINE, status="synced", pause=pause), None, None)

    assert of_run is not None
    assert (of_run.kind, of_run.since, of_run.command) == ("paused", AT, "volary resume r1")
    assert of_application is not None
    assert of_application.sentence == "the application is paused by bo: holidays"
    assert of_application.command == "volary resume shop --application"


def test_what_runs_by_itself_needs_nobody() -> None:
    run = begun()

    assert overview.attention_of(LINE, summary_of(run), run) is None
    assert overview.attention_of(replace(LINE, status="synced"), None, None) is None


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        ("failed", "refusedCommit"),
        ("rolled_back", "rolledBack"),
        ("out_of_sync", "outOfSync"),
        ("broken", "broken"),
        ("unreadable", "broken"),
        ("orphaned", "broken"),
    ],
)
def test_how_an_application_stands_is_a_kind_of_trouble(status: str, kind: str) -> None:
    line = replace(LINE, status=status, reason="because", updated=AT)

    needed = overview.attention_of(line, None, None)

    assert needed is not None
    assert (needed.kind, needed.sentence, needed.since) == (kind, "because", AT)
    assert needed.rank == overview.KINDS.index(kind)


def test_drift_counts_since_it_came_to_be_and_not_since_the_release() -> None:
    run = begun(None)
    released = replace(summary_of(run), head=replace(summary_of(run).head, finished=AT))
    line = replace(
        LINE,
        status="out_of_sync",
        reason="drift: eu: Service shop is missing",
        drifted=frozenset({"eu"}),
        drifts_since=AT + timedelta(hours=3),
    )

    needed = overview.attention_of(line, released, None)

    assert needed is not None
    assert (needed.kind, needed.since) == ("outOfSync", AT + timedelta(hours=3))
    assert (needed.command, needed.clusters) == ("volary diff shop", ("eu",))


def test_a_run_that_cannot_be_read_can_be_abandoned() -> None:
    needed = overview.attention_of(LINE, summary_of(begun(), unreadable="no JSON"), None)

    assert needed is not None
    assert needed.kind == "broken"
    assert needed.command == "volary abandon r1 --reason TEXT"


def test_a_lost_cluster_says_how_many_applications_it_holds_up() -> None:
    cluster = cluster_service.Cluster(
        name="eu",
        labels={},
        provider="",
        region="",
        zones=(),
        suspended=False,
        agent=False,
        namespaces=(),
        status="unreachable",
        reason="refused",
        since=AT,
        changing="",
        schedulable=False,
        taints=(),
        facts=None,
        facts_missing="",
    )
    lines = [
        LINE,
        replace(LINE, name="cart", missing={"eu": "it does not answer"}),
        replace(LINE, name="far", clusters=frozenset({"us"})),
    ]

    needed = overview.attention_of_cluster(cluster, lines, {"shop": ("us", "eu")})
    fine = overview.attention_of_cluster(
        structs.replace(cluster, name="us", status="ready", reason="", schedulable=True),
        lines,
        {},
    )

    assert needed is not None
    assert needed.sentence == "eu is unreachable: refused; 2 applications there, 2 held up by it"
    assert needed.applications == 2
    assert fine is None


def test_the_most_urgent_comes_first_and_then_what_waits_longest() -> None:
    failed = replace(LINE, status="failed")
    shown = [
        overview.attention_of(replace(LINE, status="broken", updated=AT), None, None),
        overview.attention_of(replace(failed, name="new", updated=AT), None, None),
        overview.attention_of(
            replace(failed, name="old", updated=AT - timedelta(days=1)), None, None
        ),
    ]

    ordered = sorted((one for one in shown if one is not None), key=overview.by_urgency)

    assert [one.application for one in ordered] == ["old", "new", "shop"]


def test_a_run_as_a_line_counts_stages_clusters_and_traffic() -> None:
    run = ended(ended(begun(), "us"), "eu")
    weights = state.Progress("10 %", 0, 0, {"canary": 20}, {"canary": 10})
    run = machine.advance(run, events.TaskProgressed(AT, run.current.id, "us", 1, weights)).run
    run = ended(run, "eu")

    line = overview.running_line(summary_of(run), run)
    unreadable = overview.running_line(summary_of(run), None)

    assert (line.stages_done, line.stages_total) == (1, 2)
    assert (line.clusters_done, line.clusters_total, line.clusters_failed) == (1, 2, 0)
    assert line.canary_weight == 10
    assert line.subject == "Bigger cache"
    assert "us: 10 %" in line.sentence
    assert (unreadable.stages_total, unreadable.canary_weight) == (0, None)


def test_what_a_run_has_brought_counts_as_running_there() -> None:
    run = ended(ended(begun(), "us"), "eu")
    run = ended(run, "eu")
    places = overview.places_of([fleets.Cluster("us"), fleets.Cluster("eu")])

    row = overview.row(LINE, run, places, released=None, seen=overview.NothingSeen())

    assert [(one.place, one.commits, one.current) for one in row.places] == [
        ("us", ("old",), 1),
        ("eu", ("new",), 1),
    ]


CLEANED = (*STAGES, pipelines.Stage(rollout_stages.CANARY_CLEAN.name, stage_kind.NoOptions()))


@dataclass
class Seen(overview.NothingSeen):
    """Everywhere the same is seen."""

    word: str

    def health(self, line: overview.ApplicationLine, cluster: str) -> str:
        return self.word


def places_while_cleaning(word: str, *done: str) -> list[tuple[str, tuple[str, ...], str]]:
    """What is shown of us and eu while the canary goes, or is gone where that is done."""
    groups = (run_builder.Group(("us", "eu")),)
    made = run_builder.RunSpec("shop", "new", groups, CLEANED, "old", HOLD)
    run = machine.advance(run_builder.new_run("r1", made, AT), events.Start(AT)).run
    for cluster in ("us", "eu", "us", "eu", *done):
        run = ended(run, cluster)
    places = overview.places_of([fleets.Cluster("us"), fleets.Cluster("eu")])
    row = overview.row(LINE, run, places, released=None, seen=Seen(word))
    return [(one.place, one.commits, one.health) for one in row.places]


def test_while_a_run_takes_its_canary_away_the_release_is_there_and_nothing_is_missing() -> None:
    going = places_while_cleaning("missing")
    gone_on_us = places_while_cleaning("missing", "us")
    crashing = places_while_cleaning("degraded")

    assert going == [("us", ("new",), "progressing"), ("eu", ("new",), "progressing")]
    assert gone_on_us == [("us", ("new",), "missing"), ("eu", ("new",), "progressing")]
    assert crashing == [("us", ("new",), "degraded"), ("eu", ("new",), "degraded")]


def test_mixed_places_show_what_most_of_their_clusters_run_first() -> None:
    members = [fleets.Cluster(name, labels={"env": "prod"}) for name in ("us", "eu", "asia")]
    line = replace(
        LINE,
        running_commit="new",
        commits={"us": "old", "eu": "old", "asia": "new"},
        clusters=frozenset({"us", "eu", "asia"}),
    )

    [place] = overview.row(
        line, None, overview.places_of(members), released=None, seen=overview.NothingSeen()
    ).places

    assert (place.commits, place.clusters, place.current) == (("old", "new"), 3, 1)


def test_columns_are_environments_else_regions_else_clusters_and_never_too_many() -> None:
    bare = [fleets.Cluster(f"c{number}") for number in range(30)]
    by_region = [replace(bare[0], region="eu"), replace(bare[1], labels={"region": "us"}), bare[2]]
    by_environment = [replace(by_region[0], labels={"environment": "dev"}), *by_region[1:]]

    clusters, regions, environments = map(overview.places_of, (bare, by_region, by_environment))

    assert (clusters.by, len(clusters.names), clusters.names[-1]) == ("cluster", 12, "others")
    assert clusters.of_clusters["c29"] == "others"
    assert (regions.by, regions.names) == ("region", ("eu", "us", "others"))
    assert (environments.by, environments.names) == ("environment", ("dev", "others"))
    assert overview.places_of([]).names == ()


def test_an_application_that_cannot_be_read_says_why_and_hides_nothing() -> None:
    line = overview.of_record(records.ApplicationRecord("shop", document={"run": 5}))

    assert line.status == "unreadable"
    assert "not as expected" in line.reason


def test_the_sentence_says_how_it_is_altogether() -> None:
    assert overview.sentence([], 1, 0) == "none of 1 application needs you"
    assert overview.sentence([], 41, 1) == "none of 41 applications needs you; 1 run is under way"
