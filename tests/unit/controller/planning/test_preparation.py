"""Everything is found out and decided before anything is written; no cluster has to answer."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import pytest

import command_world
from fixed_clock import FixedClock
from volary.clusters.client import client_pool
from volary.controller.planning import (
    opened_applications,
    planned_manifests,
    preparation,
    replica_assignment,
)
from volary.controller.planning.planned_manifests import Side, WithheldObject
from volary.controller.runs import release_plans
from volary.engine.runs import policies
from volary.model import errors
from volary.model.fleet import fleets, taints
from volary.model.objects import manifest, ownership
from volary.model.runs import run_plans
from volary.placement.failover import situations
from volary.sources.rendering import renderers

FILE = """\
apiVersion: volary.dev/v1
kind: Application
metadata: {name: shop}
spec:
"""
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop}\ndata: {version: '%s'}\n"
CORDON = taints.Taint(taints.CORDONED, "", taints.Effect.NO_SCHEDULE, by="ana", reason="1.36")
MEMBERS = fleets.Fleet(tuple(fleets.Cluster(name) for name in ("us", "eu", "ap")))


@dataclass
class Given:
    """An application in a repository, with two versions, and clusters that do not answer."""

    path: Path
    members: fleets.Fleet
    old: str
    new: str

    async def prepare(self, **more: object) -> preparation.PreparedRun:
        """Prepare a run of the newest version; nothing ran before, unless something is said."""
        opened = await opened_applications.open_application(str(self.path))
        wish = preparation.RunOptions(str(self.path), running=preparation.running_commit.NONE)
        async with client_pool.open_pool(self.members, clock=FixedClock()) as clusters:
            return await preparation.prepare(replace(wish, **more), clusters, opened)  # type: ignore[arg-type]


@contextlib.asynccontextmanager
async def an_application(
    path: Path, spec: str = "", members: fleets.Fleet = MEMBERS
) -> AsyncIterator[Given]:
    text = FILE + spec if spec else FILE.replace("spec:\n", "")
    (path / "volary.yaml").write_text(text)
    commits = []
    for version in ("v1", "v2"):
        (path / "config.yaml").write_text(CONFIG % version)
        commits.append(command_world.commit(path, f"Set {version}"))
    yield Given(path, members, *commits)


async def test_a_first_release_goes_to_all_clusters(tmp_path: Path) -> None:
    async with an_application(tmp_path) as given:
        made = await given.prepare()

    assert made.plan.targets == ("us", "eu", "ap")
    assert (made.running.commit, made.running.reason) == ("", "--running none was passed")
    assert made.old_manifests == {}
    assert set(made.manifests) == {"us", "eu", "ap"}
    assert made.chosen == ("us", "eu", "ap")
    assert made.warnings == ()


async def test_what_runs_is_named_or_remembered(tmp_path: Path) -> None:
    async with an_application(tmp_path) as given:
        named = await given.prepare(running=given.old[:10])
        remembered = await given.prepare(running="", remembered=given.old)
        nothing = await given.prepare(running="")

    assert (named.running.commit, named.running.reason) == (given.old, "--running was passed")
    assert set(named.old_manifests) == {"us", "eu", "ap"}
    assert remembered.running.commit == given.old
    assert nothing.running.commit == ""


async def test_stages_know_whose_the_objects_are_in_each_cluster(tmp_path: Path) -> None:
    """None of the clusters answers, so what is remembered counts."""
    remembered = ownership.Owner("shop", "0123456789abcdef")
    async with an_application(tmp_path) as given:
        made = await given.prepare(owners={"us": remembered})

    assert set(made.owners) == {"us", "eu", "ap"}
    assert made.application_on("us").owner == remembered
    assert made.application_on("eu").owner == made.owners["eu"] == made.owners["ap"]
    assert made.owners["eu"].id != remembered.id


async def test_a_commit_that_the_repository_does_not_have_is_refused(tmp_path: Path) -> None:
    async with an_application(tmp_path) as given:
        with pytest.raises(errors.UserError) as caught:
            await given.prepare(running="", remembered="0" * 40)

    (problem,) = caught.value.problems
    assert "which this repository does not have" in problem.message
    assert "--running none for a first deployment" in problem.hint


async def test_a_cluster_that_is_not_there_is_named_with_its_line(tmp_path: Path) -> None:
    async with an_application(tmp_path, "  targets: {names: [us, mars]}\n") as given:
        with pytest.raises(errors.UserError) as caught:
            await given.prepare()

    (problem,) = caught.value.problems
    assert "mars" in problem.message
    assert (problem.where.file, problem.where.line) == ("volary.yaml", 5)


async def test_a_spread_that_cannot_be_met_is_named_with_its_line(tmp_path: Path) -> None:
    spread = "  placement:\n    spread: [{by: cluster, minGroups: 4}]\n"
    async with an_application(tmp_path, spread) as given:
        with pytest.raises(errors.UserError) as caught:
            await given.prepare()

    (problem,) = caught.value.problems
    assert problem.message.startswith("the spread cannot be met")
    assert (problem.where.file, problem.where.line) == ("volary.yaml", 6)


async def test_who_is_cordoned_keeps_its_place_and_gets_nothing_now(tmp_path: Path) -> None:
    us, *others = MEMBERS.clusters
    members = fleets.Fleet((replace(us, taints=(CORDON,)), *others))
    placed = situations.PlacementState(("us", "eu"))
    spread = "  placement:\n    spread: [{by: cluster, maxGroups: 2}]\n"
    async with an_application(tmp_path, spread, members) as given:
        made = await given.prepare(placed=placed)

    assert made.plan.targets == ("eu",)
    assert made.chosen == ("us", "eu")
    assert made.absent.startswith("us (cordoned by ana")


async def test_a_strategy_that_is_asked_for_is_taken(tmp_path: Path) -> None:
    async with an_application(tmp_path) as given:
        made = await given.prepare(strategy=run_plans.Strategy.QUICK_SYNC)

    assert made.plan.strategy is run_plans.Strategy.QUICK_SYNC


PIPELINE = """\
  commitMatcher: {quickSync: "^Set v2$"}
  pipeline: {stages: [{name: K8S_CANARY_ROLLOUT}, {name: K8S_PRIMARY_ROLLOUT}]}
  planner: {alwaysUsePipeline: false}
"""


async def test_the_commits_title_may_decide_the_strategy(tmp_path: Path) -> None:
    async with an_application(tmp_path, PIPELINE) as given:
        made = await given.prepare(running=given.old)

    assert made.plan.strategy is run_plans.Strategy.QUICK_SYNC
    assert made.plan.summary.startswith("Quick sync because the commit message was matching")


WAVES = """\
  waves:
  - {name: first, targets: {names: [us]}}
  - {name: rest}
"""


async def test_a_cluster_in_no_wave_is_named_with_the_line_of_the_waves(tmp_path: Path) -> None:
    alone = WAVES.replace("  - {name: rest}\n", "")
    async with an_application(tmp_path, alone) as given:
        with pytest.raises(errors.UserError) as caught:
            await given.prepare()

    (problem,) = caught.value.problems
    assert (problem.where.file, problem.where.line) == ("volary.yaml", 5)


async def test_who_goes_back_takes_waves_in_reverse_order(tmp_path: Path) -> None:
    async with an_application(tmp_path, WAVES) as given:
        forward, back = await given.prepare(), await given.prepare(goes_back=True)

    assert [rule.targets for rule in forward.waves.rules] == [("us",), ("eu", "ap")]
    assert [rule.targets for rule in back.waves.rules] == [("eu", "ap"), ("us",)]


async def test_the_run_of_a_plan_has_its_limits_and_its_answer_to_failures(tmp_path: Path) -> None:
    async with an_application(tmp_path) as given:
        made = await given.prepare(
            running=given.old,
            timeout=timedelta(minutes=7),
            concurrency=2,
            on_unreachable=policies.OnUnreachable.WAIT,
        )

    spec = release_plans.plan_of(made, can_hold=True)
    assert (spec.application, spec.commit, spec.running_commit) == ("shop", given.new, given.old)
    (group,) = spec.groups
    assert (group.targets, group.concurrency) == (("us", "eu", "ap"), 2)
    assert spec.policy.timeout == timedelta(minutes=7)
    assert spec.policy.rollback_timeout == timedelta(minutes=7)
    assert spec.policy.on_unreachable is policies.OnUnreachable.WAIT
    long = replace(made, options=replace(made.options, timeout=timedelta(hours=7)))
    assert release_plans.plan_of(long, can_hold=True).policy.rollback_timeout == timedelta(
        minutes=30
    )


@pytest.mark.parametrize(
    ("planner", "can_hold", "answer", "reason"),
    [
        ({}, True, policies.OnFailure.ROLLBACK, ""),
        ({"auto_rollback": False}, True, policies.OnFailure.STOP, "autoRollback is off"),
        ({"hold_on_failure": True}, True, policies.OnFailure.HOLD, ""),
        ({"hold_on_failure": True}, False, policies.OnFailure.ROLLBACK, ""),
    ],
)
async def test_a_failure_is_held_only_where_somebody_can_be_asked(
    tmp_path: Path,
    planner: dict[str, bool],
    can_hold: bool,
    answer: policies.OnFailure,
    reason: str,
) -> None:
    async with an_application(tmp_path) as given:
        made = await given.prepare()
    app = made.opened.application
    app = replace(app, planner=replace(app.planner, **planner))
    made = replace(made, opened=replace(made.opened, application=app))

    policy = release_plans.plan_of(made, can_hold=can_hold).policy

    assert (policy.on_failure, policy.stop_reason) == (answer, reason)


async def test_of_a_run_whose_manifests_are_not_kept_what_it_is_pinned_to_is_rendered_again(
    tmp_path: Path,
) -> None:
    async with an_application(tmp_path) as given:
        opened = await opened_applications.open_application(str(given.path))
        running = {"us": given.old, "eu": "", "ap": given.new}

        again = await preparation.reopen(
            opened,
            running,
            renderers.Renderer(),
            MEMBERS,
            replica_assignment.ReplicaNumbers(),
            {},
        )

    assert set(again.manifests) == {"us", "eu", "ap"}
    assert set(again.old_manifests) == {"us", "ap"}
    assert again.rendering.sides[given.new].application is opened.application, "it stays as it is"
    versions = {
        name: manifests[0].body["data"]["version"]
        for name, manifests in again.old_manifests.items()
    }
    assert versions == {"us": "v1", "ap": "v2"}


async def test_a_wave_without_a_cluster_is_a_warning(tmp_path: Path) -> None:
    moon = "  waves:\n  - {name: moon, targets: {matchLabels: {region: moon}}}\n"
    async with an_application(tmp_path, WAVES.replace("  waves:\n", moon)) as given:
        made = await given.prepare()

    (warning,) = made.warnings
    assert warning.severity is errors.Severity.WARNING
    assert "no cluster is in wave moon" in warning.message


async def test_the_run_of_a_plan_goes_through_the_waves(tmp_path: Path) -> None:
    async with an_application(tmp_path, WAVES) as given:
        made = await given.prepare()

    spec = release_plans.plan_of(made, can_hold=True)
    assert [(rule.name, rule.targets) for rule in spec.waves] == [
        ("first", ("us",)),
        ("rest", ("eu", "ap")),
    ]
    assert {step.wave for step in spec.steps} == {"first", "rest"}


async def test_a_run_goes_on_with_what_was_planned_and_not_with_what_is_rendered(
    tmp_path: Path,
) -> None:
    async with an_application(tmp_path) as given:
        prepared = await given.prepare(running=given.old)
        key = prepared.manifests["us"][0].key
        planned = {
            Side(given.new, "us"): (manifest.Manifest({"kind": "ConfigMap", "data": {"a": "b"}}),),
            Side(given.old, "us", is_before=True): (WithheldObject(key, "another digest"),),
        }
        running = dict.fromkeys(MEMBERS.names, given.old)
        numbers = replica_assignment.ReplicaNumbers()
        made = await preparation.reopen(
            prepared.opened, running, renderers.Renderer(), MEMBERS, numbers, planned
        )

        assert await made.rendering.render(given.new, "us") == list(planned[Side(given.new, "us")])
        assert await made.rendering.render(given.new, "eu") == prepared.manifests["eu"]
        with pytest.raises(
            planned_manifests.DiffersError, match=r"^ConfigMap shop would not be as"
        ):
            await made.rendering.render_before(given.old, "us")
        assert made.old_manifests == prepared.old_manifests, "what Secrets are learned from"
        assert (
            made.rendering.planned[Side(given.old, "us", is_before=True)][0]
            is (planned[Side(given.old, "us", is_before=True)][0])
        ), "it stays as planned when it is kept once more"
