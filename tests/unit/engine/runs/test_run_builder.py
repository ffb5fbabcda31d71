"""What a run is made from, and what is refused of it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from volary.engine.runs import policies, run_builder, state
from volary.model import errors
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import added_stages, rollout_stages, waiting_stages
from volary.model.placement import rollouts
from volary.model.statuses import RunStatus

START = datetime(2026, 1, 1, tzinfo=UTC)
SYNC = pipelines.Stage(
    rollout_stages.SYNC.name, rollout_stages.SyncOptions(), timeout=timedelta(minutes=10)
)
WINDOW = policies.WindowRule(
    rollouts.Window("nights", "0 22 * * *", timedelta(hours=6)), ("us", "eu")
)
WAVES = (
    policies.WaveRule("first", ("us",), concurrency=1),
    policies.WaveRule("rest", ("eu", "asia"), concurrency=2),
)
PLAN = run_builder.RunSpec(
    "shop",
    "new",
    run_builder.one_group(("us", "eu", "asia"), concurrency=2),
    (SYNC,),
    "old",
    policies.Policy(rollback_timeout=timedelta(minutes=7)),
    running_commits={"eu": "older", "asia": ""},
    windows=(WINDOW,),
    absent="lab (suspended)",
)
IN_WAVES = replace(
    PLAN,
    waves=WAVES,
    steps=tuple(
        run_builder.WaveStep(SYNC, run_builder.Group(wave.targets, wave.name), wave.name)
        for wave in WAVES
    ),
)


def test_a_run_has_all_that_its_plan_says() -> None:
    run = run_builder.new_run("run-1", PLAN, START)

    assert (run.id, run.application, run.commit, run.running_commit) == (
        ("run-1", "shop", "new", "old")
    )
    assert (run.policy, run.windows, run.absent) == (PLAN.policy, (WINDOW,), "lab (suspended)")
    assert (run.created, run.status, run.waves) == (START, RunStatus.PLANNED, ())
    assert [run.running_commit_of(name) for name in run.targets] == ["old", "older", ""]
    (stage,) = run.stages
    assert (stage.id, stage.stage.index, stage.wave) == ("1-K8S_SYNC", 0, "")
    (group,) = stage.groups
    assert ([task.target for task in group.tasks], group.concurrency) == (["us", "eu", "asia"], 2)


def test_a_run_in_waves_has_a_step_for_each() -> None:
    run = run_builder.new_run("run-1", IN_WAVES, START)

    assert run.waves == WAVES
    assert [(stage.id, stage.wave) for stage in run.stages] == [
        ("first/1-K8S_SYNC", "first"),
        ("rest/1-K8S_SYNC", "rest"),
    ]
    assert [[task.target for task in stage.tasks] for stage in run.stages] == [
        ["us"],
        ["eu", "asia"],
    ]


def test_a_step_without_clusters_has_a_group_only_for_its_approval() -> None:
    people = pipelines.Stage(
        waiting_stages.WAIT_APPROVAL.name, waiting_stages.ApprovalOptions(("ana",), 2), index=1
    )
    empty = run_builder.Group((), "first")
    steps = tuple(run_builder.WaveStep(stage, empty, "first") for stage in (SYNC, people))
    waves = (policies.WaveRule("first", ()), policies.WaveRule("rest", ("us", "eu", "asia")))
    run = run_builder.new_run("run-1", replace(PLAN, waves=waves, steps=steps), START)

    assert [len(stage.groups) for stage in run.stages] == [0, 1]
    assert run.stages[1].groups[0].rule == policies.ApprovalRule(2, ("ana",), people.timeout)


def test_a_stage_is_limited_to_its_clusters_and_asks_as_its_group_says() -> None:
    rule = policies.ApprovalRule(1, ("bo",))
    groups = (
        run_builder.Group(("us",), "a", 1, rule, timedelta(minutes=3)),
        run_builder.Group(("eu",), "b"),
    )
    stages = (replace(SYNC, targets=("us",)), SYNC)
    run = run_builder.new_run("run-1", replace(PLAN, groups=groups, stages=stages), START)

    assert [[group.name for group in stage.groups] for stage in run.stages] == [["a"], ["a", "b"]]
    first, second = run.stages[1].groups
    assert (first.rule, first.concurrency, first.progress_deadline) == (
        (rule, 1, timedelta(minutes=3))
    )
    assert (second.rule, second.concurrency, second.progress_deadline) == (None, 0, None)


def touched(run: state.Run, ending: state.Ending | None) -> state.Run:
    clusters = tuple(replace(each, touched=each.name != "asia") for each in run.clusters)
    return replace(run, clusters=clusters, ending=ending)


@pytest.mark.parametrize(
    ("ending", "expected"),
    [
        (None, ("us", "eu")),
        (state.Ending(RunStatus.FAILED, "x", rollback=True), ("us", "eu")),
        (state.Ending(RunStatus.FAILED, "x", rollback=True, wave="first"), ("us",)),
        (state.Ending(RunStatus.FAILED, "x", rollback=True, wave="rest"), ("eu",)),
    ],
)
def test_a_rollback_visits_what_was_touched(
    ending: state.Ending | None, expected: tuple[str, ...]
) -> None:
    run = touched(run_builder.new_run("run-1", IN_WAVES, START), ending)

    back = run_builder.rollback_stage(run)

    assert {task.target for task in back.tasks} == set(expected)


def test_a_rollback_goes_the_waves_back_each_as_carefully_as_it_went() -> None:
    ending = state.Ending(RunStatus.FAILED, "x", rollback=True)
    stage = run_builder.rollback_stage(touched(run_builder.new_run("r", IN_WAVES, START), ending))

    assert (stage.id, stage.stage.name) == (state.ROLLBACK_ID, added_stages.ROLLBACK.name)
    assert (stage.stage.timeout, stage.stage.index) == (timedelta(minutes=7), 2)
    assert [(group.name, group.concurrency) for group in stage.groups] == [
        ("rest", 2),
        ("first", 1),
    ]
    assert [task.target for task in stage.tasks] == ["eu", "us"]


def test_without_waves_as_many_go_back_at_once_as_its_most_careful_group_allows() -> None:
    groups = (run_builder.Group(("us",)), run_builder.Group(("eu", "asia"), concurrency=3))
    groups += (run_builder.Group(("lab",), concurrency=2),)
    run = touched(run_builder.new_run("r", replace(PLAN, groups=groups), START), None)

    (group,) = run_builder.rollback_stage(run).groups
    assert (group.concurrency, [task.target for task in group.tasks]) == (2, ["us", "eu", "lab"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"groups": ()}, "the run has no target"),
        ({"stages": ()}, "the run has no stage"),
        ({"groups": run_builder.one_group(("us", "us"))}, "target us is named twice"),
        (
            {"stages": (replace(SYNC, targets=("lab",)),)},
            "stage K8S_SYNC is limited to lab, which is not a target of the run",
        ),
        (
            {"stages": (replace(SYNC, timeout=timedelta()),)},
            "the timeout of stage K8S_SYNC must be positive",
        ),
        (
            {"groups": run_builder.one_group(("us",), concurrency=-1)},
            "the concurrency of group of all targets is negative",
        ),
        (
            {"groups": (run_builder.Group(("us",), "a", approval=policies.ApprovalRule(0)),)},
            "an approval needs at least one person",
        ),
        ({"policy": policies.Policy(timeout=timedelta())}, "must be positive"),
        ({"policy": policies.Policy(rollback_timeout=timedelta())}, "must be positive"),
        ({"policy": policies.Policy(grace=timedelta())}, "must be positive"),
        ({"waves": WAVES[:1]}, "eu is in no wave"),
        ({"waves": (*WAVES, policies.WaveRule("more", ("us",)))}, "us is in two waves"),
        ({"waves": (*WAVES, policies.WaveRule("rest", ()))}, "two waves have the same name"),
        (
            {
                "waves": WAVES,
                "steps": (run_builder.WaveStep(SYNC, run_builder.Group(("eu",)), "first"),),
            },
            "a step of wave first names clusters that are not in it",
        ),
        (
            {"steps": (run_builder.WaveStep(SYNC, run_builder.Group(("eu",)), "first"),)},
            "us is in no wave",
        ),
        *(
            ({"waves": (replace(WAVES[0], **{field: -1}), WAVES[1])}, "the budget of wave first")
            for field in ("failures", "unreachable", "concurrency")
        ),
    ],
)
def test_a_plan_that_cannot_be_carried_out(changes: dict[str, object], message: str) -> None:
    with pytest.raises(errors.UserError, match=message):
        run_builder.new_run("run-1", replace(PLAN, **changes), START)  # type: ignore[arg-type]


def test_what_is_just_allowed() -> None:
    smallest = timedelta(microseconds=1)
    policy = policies.Policy(timeout=smallest, rollback_timeout=smallest, grace=smallest)
    groups = (run_builder.Group(("us",), "a", 0, policies.ApprovalRule(1)),)
    stages = (replace(SYNC, timeout=smallest),)

    assert run_builder.new_run(
        "run-1", replace(PLAN, policy=policy, groups=groups, stages=stages), START
    ).targets == ("us",)
