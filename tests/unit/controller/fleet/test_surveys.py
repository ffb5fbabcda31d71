"""Reading one application in its clusters, none of which can be reached."""

from datetime import UTC, datetime

import reconciler_fixtures as given
from fixed_clock import FixedClock
from volary.clusters.client import client_pool
from volary.clusters.observe import live_state
from volary.controller.fleet import surveys
from volary.manifests.health import fleet_status
from volary.model import statuses
from volary.model.objects import manifest, object_health, ownership

WHOSE = live_state.ApplicationObjects("shop", ownership.Origin())
SEEN = datetime(2030, 1, 1, 12, tzinfo=UTC)
WELL = object_health.Health(statuses.HealthStatus.HEALTHY, "all is well")
WEB = fleet_status.ObjectStatus(manifest.ResourceKey("apps", "Deployment", "shop", "web"), WELL)
HEALTHY = fleet_status.ClusterStatus(WELL, (WEB,))


async def test_a_silent_cluster_is_shown_as_it_was_known_and_since_when_it_is_silent() -> None:
    subject = surveys.Subject("shop", WHOSE, ("us", "eu"), ("old",))
    async with given.leading() as world:
        dependencies = world.leader.dependencies
        surveyor = surveys.Surveyor(dependencies.clusters, dependencies.clock)
        before = {
            "us": fleet_status.ClusterReport("us", HEALTHY, SEEN),
            "old": fleet_status.ClusterReport("old", HEALTHY, SEEN, "it was gone", given.AT),
        }
        survey = await surveyor.look(subject, before)
        again = await surveyor.look(
            subject, {report.cluster: report for report in survey.whole.clusters}
        )

    us, eu, old = survey.whole.clusters
    assert [(one.cluster, one.wanted) for one in (us, eu, old)] == [
        ("us", True),
        ("eu", True),
        ("old", False),
    ]
    assert all(report.unreachable_reason for report in (us, eu, old))
    assert (us.state, us.seen, us.silent_since) == (HEALTHY, SEEN, SEEN)
    assert (old.state, old.seen, old.silent_since) == (HEALTHY, SEEN, given.AT)
    assert (eu.state, eu.seen) == (None, None)
    assert [one.silent_since for one in again.whole.clusters] == [
        us.silent_since,
        eu.silent_since,
        old.silent_since,
    ], "each is silent since it was first"


async def test_an_answer_is_shared_until_it_is_too_old() -> None:
    asked = []

    async def subject() -> surveys.Subject:
        asked.append("shop")
        return surveys.Subject("shop", WHOSE, ("us",))

    async with given.leading() as world:
        clock = FixedClock()
        surveyor = surveys.Surveyor(world.leader.dependencies.clusters, clock)
        first = await surveyor.survey("shop", subject)
        clock.forward(seconds=4.9)
        same = await surveyor.survey("shop", subject)
        clock.forward(seconds=0.1)
        new = await surveyor.survey("shop", subject)
        clock.forward(hours=-1)
        newest = await surveyor.survey("shop", subject)

    assert same is first
    assert new is not first
    assert newest is not new
    assert asked == ["shop", "shop", "shop"]


async def test_what_one_project_saw_is_not_shown_to_another() -> None:
    """An application that has come to another project is read anew, as that one."""
    asked: list[client_pool.FleetClients | None] = []

    async with given.leading() as world:
        dependencies = world.leader.dependencies
        surveyor = surveys.Surveyor(dependencies.clusters, FixedClock())

        async def survey(project: str) -> surveys.Survey:
            clusters = dependencies.acting_for(project).clusters

            async def subject() -> surveys.Subject:
                asked.append(clusters)
                return surveys.Subject("shop", WHOSE, ("us",), clusters=clusters)

            return await surveyor.survey("shop", subject, project=project)

        before, after = await survey("team-a"), await survey("team-b")
        again = await survey("team-a")

    (us,) = before.whole.clusters
    assert us.unreachable_reason == (
        "nothing is done in clusters for the application: there is no project team-a any more"
    )
    assert "team-b" in after.whole.clusters[0].unreachable_reason
    assert again is before
    assert len(asked) == 2
