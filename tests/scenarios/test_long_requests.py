"""Who has asked for long is answered too: streams, slow answers and WebSockets in a release.

Through real proxies as they are by default (Traefik looks at changes every two seconds), and pods
as `volary lint` wants them: with a ``preStop`` hook as long as the router is late.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import aiohttp
import pytest

import grpc_client
import process_time
import stage_world
import traffic_world
from kube_sandbox import proxies
from kube_sandbox.crds import definitions
from mesh_world import GATEWAY, HOST, ISTIO, called, meshed, routed
from stage_world import NEW, OLD
from volary.model import applications, json
from volary.model.objects import manifest
from volary.model.pipeline.stage_kinds import rollout_stages, stage_kind, traffic_stages
from volary.stages.runtime import contexts

#: Seconds: of Traefik's default between two looks, and of what users ask for.
THROTTLE, LONG = 2.0, 4.0
#: Of each kind of user, begun in a second.
RATE = 3.0
CANARY = rollout_stages.VariantRolloutOptions(
    replicas=rollout_stages.Replicas(1), create_service=True
)
HALF = traffic_stages.TrafficOptions(50, canary=50)


def waiting(item: manifest.Manifest, late: float, grace: float) -> manifest.Manifest:
    """Return a workload whose pods wait until their router knows, and then for who has asked.

    Both in seconds of the users.
    """
    if item.kind != "Deployment":
        return item
    body: json.JsonObject = item.body
    template = body["spec"]["template"]
    seconds, most = (int(each * traffic_world.SPEED) for each in (late, late + grace))
    [container] = template["spec"]["containers"]
    hooked = {**container, "lifecycle": {"preStop": {"sleep": {"seconds": seconds}}}}
    spec = {"containers": [hooked], "terminationGracePeriodSeconds": most}
    return item.with_spec({**body["spec"], "template": {**template, "spec": spec}})


@dataclass
class Users:
    """Users who want something for long, one after another, and what became of each."""

    url: str
    host: str
    session: aiohttp.ClientSession
    served: Counter[str] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)
    versions: Counter[str] = field(default_factory=Counter)

    @property
    def wants(self) -> Mapping[str, Callable[[], Awaitable[str]]]:
        """What they want, each of which returns the version that answered."""
        return {"slow": self._slow, "stream": self._stream, "websocket": self._talk}

    async def until_answered(self) -> None:
        """Wait until the way to the pods is known."""
        await traffic_world.until_answered({"us": self.url}, host=self.host)

    async def come(self, leaving: asyncio.Event) -> None:
        """Begin some of each kind all the time; the last ones are served to their end."""
        async with asyncio.TaskGroup() as group:
            while not leaving.is_set():
                for kind, want in self.wants.items():
                    group.create_task(self._count(kind, want))
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(1 / RATE):
                        await leaving.wait()

    async def _count(self, kind: str, want: Callable[[], Awaitable[str]]) -> None:
        try:
            self.versions[await want()] += 1
        except (aiohttp.ClientError, OSError, TypeError, ValueError) as error:
            self.lost.append(f"{kind}: {error!r}")
        else:
            self.served[kind] += 1

    async def _slow(self) -> str:
        async with self._get(f"/?latency={LONG}s") as answer:
            answer.raise_for_status()
            return str((await answer.json())["version"])

    async def _stream(self) -> str:
        async with self._get(f"/stream?for={LONG}s") as answer:
            answer.raise_for_status()
            await answer.read()  # what is not whole is an error
            return answer.headers["x-version"]

    async def _talk(self) -> str:
        async with self.session.ws_connect(self.url, headers={"host": self.host}) as socket:
            version = str((await socket.receive_json())["version"])
            for number in range(int(LONG * 2)):
                await socket.send_str(str(number))
                said = await socket.receive()
                if said.type is aiohttp.WSMsgType.CLOSE:
                    # Told so, a client comes back; one that is cut off has lost something.
                    assert said.data == aiohttp.WSCloseCode.GOING_AWAY, said
                    return version
                if said.data != str(number):
                    raise ValueError(f"{said} instead of {number}")
                await asyncio.sleep(0.5)
        return version

    def _get(self, path: str) -> contextlib.AbstractAsyncContextManager[aiohttp.ClientResponse]:
        return self.session.get(f"{self.url}{path}", headers={"host": self.host})


class Callers(Users):
    """Users of gRPC, each with a connection of its own."""

    @property
    def wants(self) -> Mapping[str, Callable[[], Awaitable[str]]]:
        return {"call": self._call}

    async def until_answered(self) -> None:
        async with asyncio.timeout(process_time.HANG):
            while (await self._made(0.0)).codes != {"OK": 1}:
                pass  # An answer is waited for each time.

    async def _call(self) -> str:
        calls = await self._made(LONG)
        if calls.codes != {"OK": 1}:
            raise ValueError(f"{dict(calls.codes)} {calls.details}")
        [version] = calls.by_version
        return version

    async def _made(self, latency: float) -> grpc_client.Calls:
        address = self.url.removeprefix("http://")
        method = f"/shop.Shop/Buy?latency={latency}s"
        return await grpc_client.call(address, 1, host=self.host, method=method)


@dataclass(frozen=True)
class Road:
    """How users reach pods."""

    application: applications.Application
    proxy: proxies.Kind
    #: The manifests of a version, by its image.
    manifests: Callable[[str], list[manifest.Manifest]]
    host: str
    crds: Sequence[json.JsonObject]
    users: type[Users] = Users


MESH = Road(ISTIO, proxies.Kind.ENVOY, meshed, "shop", definitions.istio())
WEB = Road(GATEWAY, proxies.Kind.TRAEFIK, routed, HOST, definitions.gateway_api())
CALLS = replace(WEB, manifests=called, users=Callers)


@contextlib.asynccontextmanager
async def released(road: Road, *, ends_well: bool = True) -> AsyncIterator[Users]:
    """Given: version 2 was released to the end while users came all the time."""
    if reason := proxies.missing(road.proxy):
        pytest.skip(reason)
    application = road.application
    settings = traffic_world.settings(crds=road.crds, drain=0.2)
    # Twice what lint asks for: proxies on a busy machine are later than that.
    late = 2 * application.traffic_routing.patience.total_seconds() if ends_well else 0.0
    grace = process_time.HANG if ends_well else LONG / 10
    async with stage_world.world("us", application=application, settings=settings) as given:
        for commit, image in ((OLD, "shop:v1"), (NEW, "shop:v2")):
            given.sources[commit] = [waiting(each, late, grace) for each in road.manifests(image)]
        given.options = contexts.Options()
        async with (
            proxies.before(given.running, road.proxy, throttle=THROTTLE) as urls,
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(process_time.HANG)) as session,
        ):
            await given.deployed(OLD)
            users, leaving = road.users(urls["us"], road.host, session), asyncio.Event()
            await users.until_answered()
            async with asyncio.TaskGroup() as group, given.one_run():
                group.create_task(users.come(leaving))
                for name, options in (
                    (rollout_stages.CANARY_ROLLOUT.name, CANARY),
                    (traffic_stages.TRAFFIC_ROUTING.name, HALF),
                    (rollout_stages.PRIMARY_ROLLOUT.name, rollout_stages.PrimaryRolloutOptions()),
                    (rollout_stages.CANARY_CLEAN.name, stage_kind.NoOptions()),
                ):
                    outcomes = await given.run(name, options, limit=process_time.HANG)
                    assert outcomes["us"].status == "succeeded", outcomes["us"]
                leaving.set()
            yield users


@pytest.mark.parametrize("road", [WEB, MESH, CALLS], ids=["traefik", "envoy", "traefik-grpc"])
async def test_nobody_who_asks_for_long_is_cut_off(road: Road) -> None:
    async with released(road) as users:
        assert users.lost == []
        assert min(users.served[each] for each in users.wants) >= 10
        assert users.versions.keys() == {"v1", "v2"}


@pytest.mark.parametrize("road", [WEB, CALLS], ids=["http", "grpc"])
async def test_pods_that_end_at_once_cut_them_off(road: Road) -> None:
    """What the counting is for: it sees them. There is always somebody on each pod that ends."""
    async with released(road, ends_well=False) as users:
        assert users.lost
