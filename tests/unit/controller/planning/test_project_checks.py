"""How many clusters a run of a project changes at once, and which of the fleet it sees."""

import pytest

from volary.controller.planning import project_checks
from volary.engine.runs import policies, run_builder
from volary.model import errors, projects
from volary.model.fleet import fleets
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import added_stages, rollout_stages, stage_kind
from volary.model.placement import rollouts
from volary.tenancy import membership

SYNC = pipelines.Stage(rollout_stages.SYNC.name, rollout_stages.SyncOptions())
GATE = pipelines.Stage(added_stages.WAVE_GATE.name, stage_kind.NoOptions())
NAMES = ("us", "eu", "ap")
FLEET = fleets.Fleet(tuple(fleets.Cluster(name) for name in NAMES))


def team(**more: object) -> projects.Project:
    return projects.Project("team-a", **more)  # type: ignore[arg-type]


def of(spec: run_builder.RunSpec) -> tuple[list[int], list[int], list[int]]:
    return (
        [group.concurrency for group in spec.groups],
        [wave.concurrency for wave in spec.waves],
        [step.group.concurrency for step in spec.steps],
    )


def test_a_run_changes_no_more_clusters_at_once_than_its_project_may() -> None:
    """Clusters that prove themselves together are not changed by that."""

    def group(concurrency: int) -> run_builder.Group:
        return run_builder.Group(NAMES, concurrency=concurrency)

    spec = run_builder.RunSpec(
        "shop",
        "new",
        (group(0), group(1), group(3)),
        (SYNC, GATE),
        waves=(policies.WaveRule("first", NAMES), policies.WaveRule("last", NAMES, concurrency=1)),
        steps=(
            run_builder.WaveStep(SYNC, group(0), "first"),
            run_builder.WaveStep(GATE, group(0), "first"),
        ),
    )
    two = projects.ProjectLimits(clusters=2)

    assert of(project_checks.limited(spec, team(limits=two))) == ([2, 1, 2], [2, 1], [2, 0])
    assert project_checks.limited(spec, team()) == project_checks.limited(spec, None) == spec


def test_a_project_sees_its_own_clusters() -> None:
    selector = rollouts.ClusterSelector(("us", "eu"))
    narrow = team(destinations=(projects.Destination(selector, ("shop",)),))
    wide = team(destinations=(projects.Destination(namespaces=("shop",)),))

    assert project_checks.seen_fleet(narrow, FLEET).names == ("us", "eu")
    assert project_checks.seen_fleet(wide, FLEET) is FLEET
    assert project_checks.seen_fleet(None, FLEET) is FLEET


def test_a_project_that_is_not_known_yet_is_no_mistake_of_the_application() -> None:
    with pytest.raises(errors.TemporaryError, match="Git is away"):
        project_checks.require(membership.Projects(unknown="Git is away"), "team-a")
    assert project_checks.require(membership.Projects(), "default") is None
    with pytest.raises(errors.UserError, match="nothing may be deployed: there is no project"):
        project_checks.require(membership.Projects({"team-b": team()}), "team-a")
