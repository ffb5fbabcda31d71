"""Users who ask for long: slow answers, streams, WebSockets, calls of gRPC; and who routes them.

The vocabulary of whoever counts what becomes of requests that are under way in a release.
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
from volary.model.pipeline.stage_kinds import (
    added_stages,
    rollout_stages,
    stage_kind,
    traffic_stages,
)
from volary.stages.runtime import contexts

#: Seconds: of Traefik's default between two looks, and of what users ask for.
THROTTLE, LONG = 2.0, 4.0
#: Of each kind of user, begun in a second.
RATE = 3.0
#: Of a pipeline with a canary that gets half of the traffic: its stages until promotion, those
#: of promotion and clean-up, and that which takes the release back.
HALF_TO_CANARY = (
    (
        rollout_stages.CANARY_ROLLOUT.name,
        rollout_stages.VariantRolloutOptions(
            replicas=rollout_stages.Replicas(1), create_service=True
        ),
    ),
    (traffic_stages.TRAFFIC_ROUTING.name, traffic_stages.TrafficOptions(50, canary=50)),
)
PROMOTION = (
    (rollout_stages.PRIMARY_ROLLOUT.name, rollout_stages.PrimaryRolloutOptions()),
    (rollout_stages.CANARY_CLEAN.name, stage_kind.NoOptions()),
)
ROLLBACK = ((added_stages.ROLLBACK.name, stage_kind.NoOptions()),)


@dataclass(frozen=True)
class Routing:
    """How users reach pods."""

    application: applications.Application
    proxy: proxies.Kind
    #: The manifests of a version, by its image.
    manifests: Callable[[str], list[manifest.Manifest]]
    host: str
    crds: Sequence[json.JsonObject]
    users: "type[Users]"


@dataclass(frozen=True)
class Pods:
    """How pods end, in seconds of the users."""

    #: Of a ``preStop`` hook that sleeps; 0: there is none.
    sleep: float
    #: That they take in all.
    grace: float

    def of(self, item: manifest.Manifest, speed: float) -> manifest.Manifest:
        """Return a workload whose pods end so, in a sandbox of a speed."""
        if item.kind != "Deployment":
            return item
        body: json.JsonObject = item.body
        template = body["spec"]["template"]
        sleep, grace = (int(each * speed) for each in (self.sleep, self.grace))
        [container] = template["spec"]["containers"]
        if sleep:
            container = {**container, "lifecycle": {"preStop": {"sleep": {"seconds": sleep}}}}
        spec = {"containers": [container], "terminationGracePeriodSeconds": grace}
        return item.with_spec({**body["spec"], "template": {**template, "spec": spec}})


@dataclass
class Users:
    """Users who want something for long, one after another, and what became of each."""

    url: str
    host: str
    session: aiohttp.ClientSession
    #: Seconds that each of them wants something.
    lasting: float = LONG
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
        async with self._get(f"/?latency={self.lasting}s") as answer:
            answer.raise_for_status()
            return str((await answer.json())["version"])

    async def _stream(self) -> str:
        async with self._get(f"/stream?for={self.lasting}s") as answer:
            answer.raise_for_status()
            await answer.read()  # what is not whole is an error
            return answer.headers["x-version"]

    async def _talk(self) -> str:
        async with self.session.ws_connect(self.url, headers={"host": self.host}) as socket:
            version = str((await socket.receive_json())["version"])
            for number in range(int(self.lasting * 2)):
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


class Readers(Users):
    """Users of the built-in proxy, which passes answers on when they are whole."""

    @property
    def wants(self) -> Mapping[str, Callable[[], Awaitable[str]]]:
        return {"slow": self._slow, "stream": self._stream}


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
        calls = await self._made(self.lasting)
        if calls.codes != {"OK": 1}:
            raise ValueError(f"{dict(calls.codes)} {calls.details}")
        [version] = calls.by_version
        return version

    async def _made(self, latency: float) -> grpc_client.Calls:
        address = self.url.removeprefix("http://")
        method = f"/shop.Shop/Buy?latency={latency}s"
        return await grpc_client.call(address, 1, host=self.host, method=method)


MESH = Routing(ISTIO, proxies.Kind.ENVOY, meshed, "shop", definitions.istio(), Users)
WEB = Routing(GATEWAY, proxies.Kind.TRAEFIK, routed, HOST, definitions.gateway_api(), Users)
CALLS = replace(WEB, manifests=called, users=Callers)


@contextlib.asynccontextmanager
async def deployed(
    routing: Routing, pods: Pods, *, speed: float = traffic_world.SPEED, drain: float = 0.2
) -> AsyncIterator[tuple[stage_world.World, str]]:
    """Given: version 1 runs, and a proxy with its defaults leads to it; gives its address.

    Pods that are told to end do so after `drain` seconds at the earliest.
    """
    if reason := proxies.missing(routing.proxy):
        pytest.skip(reason)
    settings = traffic_world.settings(crds=routing.crds, drain=drain, speed=speed)
    async with stage_world.world("us", application=routing.application, settings=settings) as given:
        for commit, image in ((OLD, "shop:v1"), (NEW, "shop:v2")):
            given.sources[commit] = [pods.of(each, speed) for each in routing.manifests(image)]
        given.options = contexts.Options()
        async with proxies.before(given.running, routing.proxy, throttle=THROTTLE) as urls:
            await given.deployed(OLD)
            yield given, urls["us"]


@contextlib.asynccontextmanager
async def coming(routing: Routing, url: str, *, lasting: float = LONG) -> AsyncIterator[Users]:
    """When: users come as long as the block lasts; all are served, or not, when it is over."""
    timeout = aiohttp.ClientTimeout(process_time.HANG)
    async with aiohttp.ClientSession(timeout=timeout) as session:
        users, leaving = routing.users(url, routing.host, session, lasting), asyncio.Event()
        await users.until_answered()
        async with asyncio.TaskGroup() as group:
            group.create_task(users.come(leaving))
            yield users
            leaving.set()


async def carry_out(
    given: stage_world.World, stages: Sequence[tuple[str, stage_kind.StageOptions]]
) -> None:
    """When: stages of one run are carried out, and succeed."""
    for name, options in stages:
        outcomes = await given.run(name, options, limit=process_time.HANG)
        assert outcomes["us"].status == "succeeded", outcomes["us"]
