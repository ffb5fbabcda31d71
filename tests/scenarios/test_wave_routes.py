"""Traffic is divided in waves while a cluster is lost: what routes say adds up at every change."""

import asyncio

import pytest

from kube_sandbox.apiserver.storage import storage
from router_world import ROUTERS, Router, stages
from stage_world import KEY, World
from volary.model.pipeline.stage_kinds import added_stages, stage_kind
from volary.model.placement import rollouts
from volary.model.statuses import RunStatus
from wave_invariants import Allowed, watched
from wave_world import NEW, OLD, Reacting, moved, starts, world

GROUPS = (("us",), ("eu-1", "eu-2"), ("asia",))
NAMES = tuple(name for each in GROUPS for name in each)
ONE_LOST = rollouts.Budget(unreachable=rollouts.Share(1))
V1, V2 = "shop:v1 2/2", "shop:v2 2/2"
#: When the second of two divisions begins in the second wave.
SECOND = "wave-2/3-K8S_TRAFFIC_ROUTING"


def waves(**rules: object) -> rollouts.Waves:
    return rollouts.Waves(
        tuple(
            rollouts.Wave(f"wave-{number}", rollouts.ClusterSelector(names=names), **rules)  # type: ignore[arg-type]
            for number, names in enumerate(GROUPS, start=1)
        )
    )


class Losing(Reacting):
    """Loses eu-1 for a while: as the second division begins there, or as it is written there."""

    def __init__(self, given: World, kind: str, *, seconds: float, as_written: bool) -> None:
        super().__init__(starts(SECOND, "eu-1"), lambda _: self._begins(as_written=as_written))
        self._cluster, self._kind, self._seconds = given.running.clusters["eu-1"], kind, seconds
        self.times = 0
        self._armed = False
        self._end = self._cluster.registry.subscribe(self._changed)

    def _begins(self, *, as_written: bool) -> None:
        self._armed = as_written
        if not as_written:
            self._lose()

    def _changed(self, change: storage.Change) -> None:
        """The write is stored, and nobody gets its answer."""
        if self._armed and change.item.body["kind"] == self._kind:
            self._armed = False
            self._lose()

    def _lose(self) -> None:
        self.times += 1
        self._end()
        self._cluster.faults.change({"lost": "refuse"})
        if self._seconds:
            loop = asyncio.get_running_loop()
            loop.call_later(self._seconds, self._cluster.faults.change, {"lost": ""})


def shares(given: World, name: str) -> dict[str, float]:
    return given.traffic(name).by_label(KEY)


@pytest.mark.parametrize(
    ("name", "as_written"),
    [
        ("istio", False),
        ("istio", True),
        ("gateway", False),
        ("gateway", True),
        ("podselector", True),
    ],
)
async def test_a_cluster_lost_between_and_in_the_middle_of_divisions_is_caught_up(
    name: str, *, as_written: bool
) -> None:
    """It is waited for, and goes on with its traffic as it is."""
    router = ROUTERS[name]
    rules = waves(budget=ONE_LOST, on_unreachable=rollouts.OnWaveUnreachable.WAIT)
    async with world(
        *NAMES, application=router.application, definitions=router.definitions
    ) as given:
        given.sources = {OLD: router.manifests("shop:v1"), NEW: router.manifests("shop:v2")}
        await given.deployed(OLD)
        story = Losing(given, router.kind, seconds=0.7, as_written=as_written)

        with watched(given, story, allowed=Allowed(unreachable=1)) as watch:
            await moved(given, rules, stages=stages(router), story=story)

        assert story.times == 1
        assert story.run is not None
        assert story.run.status is RunStatus.SUCCEEDED, story.run.reason
        assert {given.images(name) for name in NAMES} == {V2}
        assert [shares(given, name) for name in NAMES] == [{"primary": 1.0}] * len(NAMES)
        assert router.kind == "Service" or watch.routes >= 3 * len(NAMES)


@pytest.mark.parametrize("router", ROUTERS.values(), ids=ROUTERS)
async def test_a_cluster_lost_for_good_in_mid_division_keeps_what_it_had(router: Router) -> None:
    """Its wave is rolled back without it; what is there when it returns goes back, too."""
    rules = waves(on_failure=rollouts.OnWaveFailure.ROLLBACK_WAVE)
    async with world(
        *NAMES, application=router.application, definitions=router.definitions
    ) as given:
        given.sources = {OLD: router.manifests("shop:v1"), NEW: router.manifests("shop:v2")}
        await given.deployed(OLD)
        story = Losing(given, router.kind, seconds=0, as_written=True)

        with watched(given, story):
            await moved(given, rules, stages=stages(router), story=story)

        assert story.times == 1
        assert story.run is not None
        assert story.run.status is RunStatus.FAILED
        assert [given.images(name) for name in NAMES] == [V2, V1, V1, V1]
        assert shares(given, "eu-2") == {"primary": 1.0}
        assert given.count("eu-2", "Deployment") == 1
        # Nobody could ask it anything: its users are served as they were.
        second = router.divisions[1]
        wanted = {"primary": second.primary / 100, "canary": second.canary / 100}
        assert shares(given, "eu-1") == pytest.approx({k: v for k, v in wanted.items() if v})
        assert given.count("eu-1", "Deployment") == 2

        given.running.clusters["eu-1"].faults.clear()
        # Until it is known to be back.
        await asyncio.sleep(0.6)
        with watched(given):
            back = await given.run(
                added_stages.ROLLBACK.name, stage_kind.NoOptions(), targets=("eu-1",)
            )
        assert back["eu-1"].status == "succeeded", back
        assert shares(given, "eu-1") == {"primary": 1.0}
        assert given.count("eu-1", "Deployment") == 1
