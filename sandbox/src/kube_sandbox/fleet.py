"""A fleet of emulated clusters in this process, with the files that lead to them.

    async with fleet.start(["us", "eu"], directory=path, speed=20) as running:
        running.clusters["eu"].faults.images.add("*/shop:v2", "bad")

Each cluster is a real server on a socket with controllers behind it. Leaving the
block frees the ports and ends every task.
"""

import asyncio
import contextlib
import dataclasses
import functools
import secrets
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import yaml

from kube_sandbox import errors, initial_objects, json
from kube_sandbox.apimachinery.meta import api_errors, objects, times
from kube_sandbox.apiserver import server
from kube_sandbox.apiserver.access import kubeconfig, users
from kube_sandbox.apiserver.registry import registry, resource_metrics
from kube_sandbox.apiserver.storage import verbs
from kube_sandbox.controllers.kubelet import behaviours, containers, lifecycle
from kube_sandbox.controllers.manager import cache, loop
from kube_sandbox.dataplane import address_file, cluster_traffic
from kube_sandbox.dataplane.servers import loopback, traffic_metrics
from kube_sandbox.faults import fault_middleware, faults

#: The file that names the clusters.
FLEET_FILE = "fleet.yaml"


class WallClock:
    """The computer's clock."""

    def now(self) -> datetime:
        """Return the current time."""
        return datetime.fromtimestamp(time.time(), UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How the clusters of a fleet are; every cluster gets the same."""

    host: str = "127.0.0.1"
    #: Sandbox seconds per real second: pulls, back-offs and deadlines run so much faster.
    #: Above 100 a busy machine may miss deadlines that were meant generously.
    speed: float = 1.0
    timing: containers.Timing = field(default_factory=containers.Timing)
    #: Nodes per cluster.
    nodes: int = 3
    #: Custom resources to install at the start (`crds`).
    crds: Sequence[json.JsonObject] = ()
    #: Labels per cluster; without any, ``region`` is the cluster's name.
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    tls: bool = True
    #: For names, addresses and chances; None for different ones at each start.
    seed: int | None = None
    #: Pods are real servers, with a proxy before them (`dataplane`); Linux only.
    traffic: bool = False
    #: metrics-server is installed (``metrics.k8s.io``, `kubectl top`).
    metrics_server: bool = False
    #: Real seconds that pods serve on when their deletion begins, at least, with `traffic`:
    #: real proxies need a moment to follow, however fast the sandbox runs.
    drain: float = 0.6
    #: Real seconds after which the built-in proxy follows routes; endpoints it follows at once.
    lag: float = 0.0
    #: In front of each API server, before its faults: for whoever counts requests.
    middlewares: tuple[server.Middleware, ...] = ()


class Cluster:
    """A running cluster."""

    def __init__(
        self,
        name: str,
        *,
        served: server.Server,
        token: str,
        kubeconfig_path: Path,
        switchboard: faults.Switchboard,
        controllers: loop.Loop,
        speed: float,
        traffic: cluster_traffic.ClusterTraffic | None = None,
    ) -> None:
        self.name = name
        #: ``https://127.0.0.1:6443``.
        self.url = served.url
        #: The administrator's token.
        self.token = token
        #: The CA's certificate in PEM; empty without TLS.
        self.certificate_authority = served.certificate_authority
        self.kubeconfig_path = kubeconfig_path
        #: What is wrong with it; to be switched at any time.
        self.faults = switchboard
        self.registry = served.registry
        self._traffic = traffic
        self._server = served
        self._controllers = controllers
        self._speed = speed
        self._stopped = False
        # Held here and awaited by `stop`. A TaskGroup around the caller's block would turn
        # every error raised in it into an exception group.
        self._task = asyncio.get_running_loop().create_task(
            controllers.run(), name=f"sandbox {name}"
        )

    @property
    def view(self) -> cache.Cache:
        """Its objects, for tests and for `traffic`."""
        return self._controllers.seen

    @property
    def traffic(self) -> cluster_traffic.ClusterTraffic:
        """Its real traffic.

        Raises:
            UserError: The fleet was started without.
        """
        if self._traffic is None:
            raise errors.UserError(
                f'cluster "{self.name}" has no real traffic', hint="start the fleet with it"
            )
        return self._traffic

    def install_metrics_server(self) -> None:
        """Serve ``metrics.k8s.io``: what pods use, as their annotations and image rules say."""
        self.registry.serve_metrics(
            functools.partial(_usage, rules=self.faults.images), speed=self._speed
        )

    async def until(self, holds: Callable[[cache.Cache], bool], *, timeout: float = 10.0) -> None:
        """Wait until something holds in the cluster; it is asked after every change.

        Raises:
            TimeoutError: It did not within `timeout` real seconds.
            Exception: What ended its controllers, which would be a mistake in them.
        """
        changed = asyncio.Event()
        unsubscribe = self.registry.subscribe(lambda _: changed.set())
        self._task.add_done_callback(lambda _: changed.set())
        try:
            async with asyncio.timeout(timeout):
                while not holds(self.view):
                    if self._task.done():
                        self._task.result()
                    changed.clear()
                    await changed.wait()
        finally:
            unsubscribe()

    async def stop(self) -> None:
        """Free the port and end its tasks; a stopped cluster does not come back.

        Raises:
            Exception: What ended its controllers before, which would be a mistake in them.
        """
        if self._stopped:
            return
        self._stopped = True
        self.faults.set(faults.NONE)  # lets requests go that a fault holds
        self._task.cancel()
        await asyncio.wait([self._task])
        if self._traffic is not None:
            await self._traffic.close()
        await self._server.stop()
        if not self._task.cancelled():
            self._task.result()  # a mistake in a controller has ended it: say so


@dataclass(frozen=True, slots=True)
class Fleet:
    """Running clusters and where their files are."""

    #: By name, in the order they were asked for.
    clusters: Mapping[str, Cluster]
    #: ``fleet.yaml`` and the kubeconfigs.
    directory: Path
    #: Where the metrics of the traffic are; empty without real traffic.
    metrics_url: str = ""

    @property
    def path(self) -> Path:
        """The fleet file."""
        return self.directory / FLEET_FILE

    @property
    def required_metrics_url(self) -> str:
        """Where the metrics of the traffic are: ``http://127.1.16.1:9100``.

        Raises:
            UserError: The fleet was started without real traffic.
        """
        if not self.metrics_url:
            raise errors.UserError("the fleet has no real traffic", hint="start it with it")
        return self.metrics_url


@contextlib.asynccontextmanager
async def start(
    names: Sequence[str],
    *,
    ports: Sequence[int] | None = None,
    directory: Path | None = None,
    settings: Settings | None = None,
) -> AsyncIterator[Fleet]:
    """Run one cluster per name; without `directory` the files are temporary.

    Raises:
        UserError: Names twice, another number of ports, a port taken, no place for the files.
    """
    chosen = settings or Settings()
    _check(names, ports)
    async with contextlib.AsyncExitStack() as stack:
        if directory is None:
            made = stack.enter_context(tempfile.TemporaryDirectory(prefix="kube-sandbox-"))
            directory = Path(made)
        _prepare(directory)
        clusters: dict[str, Cluster] = {}
        for number, name in enumerate(names):
            port = ports[number] if ports else 0
            cluster = await _open(name, number, port, directory, chosen)
            stack.push_async_callback(cluster.stop)
            _seed(cluster, chosen)
            if chosen.metrics_server:
                cluster.install_metrics_server()
            clusters[name] = cluster
        _write(directory, names, chosen)
        metrics_url = await _observe(clusters, directory, stack) if chosen.traffic else ""
        yield Fleet(clusters, directory, metrics_url)


async def _observe(
    clusters: Mapping[str, Cluster], directory: Path, stack: contextlib.AsyncExitStack
) -> str:
    """Let the metrics of the traffic be asked for, and write down where everything is."""
    first = next(iter(clusters.values())).traffic.address
    servers = {name: each.traffic.pods for name, each in clusters.items()}
    listener = await traffic_metrics.start(first, servers)
    stack.callback(listener.abort)
    url = f"http://{first}:{traffic_metrics.PORT}"
    address_file.write(
        directory,
        address_file.Addresses(
            {name: each.traffic.gateway for name, each in clusters.items()}, url
        ),
    )
    stack.callback(address_file.remove, directory)
    return url


def _check(names: Sequence[str], ports: Sequence[int] | None) -> None:
    if not names:
        raise errors.UserError("a fleet needs at least one cluster")
    if len(set(names)) < len(names):
        raise errors.UserError(f"cluster names must differ: {', '.join(names)}")
    if ports is not None and len(ports) != len(names):
        raise errors.UserError(
            f"{len(names)} clusters need {len(names)} ports, not {len(ports)}",
            hint="leave the ports out to use free ones",
        )


def _prepare(directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise errors.UserError(f"cannot use {directory}: {problem.strerror}") from problem


async def _open(name: str, number: int, port: int, directory: Path, settings: Settings) -> Cluster:
    clock = WallClock()
    seed = None if settings.seed is None else settings.seed + number
    held = registry.Registry(clock, registry.Settings(seed=seed))
    switchboard = faults.Switchboard(seed=seed or 0)
    token = secrets.token_urlsafe(24)
    middleware = fault_middleware.FaultMiddleware(switchboard, token=token)
    block = loopback.claim() if settings.traffic else None
    try:
        served = await server.start(
            held,
            server.Settings(
                name=name,
                host=settings.host,
                port=port,
                users=(users.administrator(token),),
                tls=settings.tls,
                middlewares=(*settings.middlewares, middleware.hook),
            ),
        )
    except OSError as problem:
        if block is not None:
            block.close()
        raise errors.UserError(
            f'cluster "{name}" cannot listen on {settings.host}:{port}: {problem.strerror}',
            hint="choose other ports, or none for free ones",
        ) from problem
    traffic: cluster_traffic.ClusterTraffic | None = None
    setting = lifecycle.Setting(switchboard.images, _timing(settings))
    controllers = loop.Loop(
        held,
        clock,
        loop.Settings(
            setting,
            speed=settings.speed,
            cluster_number=number,
            certificate=served.certificate_authority,
            pod_address=block.take if block is not None else None,
            is_busy=lambda uid: traffic is not None and traffic.pods.is_busy(uid),
        ),
    )
    if block is not None:
        seen = controllers.seen
        try:
            traffic = await cluster_traffic.start(
                name,
                held,
                seen,
                setting,
                block,
                seed=seed,
                lag=settings.lag,
                speed=settings.speed,
            )
        except errors.UserError:
            await served.stop()
            raise
    return Cluster(
        name,
        served=served,
        token=token,
        kubeconfig_path=directory / f"{name}.kubeconfig",
        switchboard=switchboard,
        controllers=controllers,
        speed=settings.speed,
        traffic=traffic,
    )


def _usage(pod: json.JsonObject, rules: behaviours.ImageRules) -> dict[str, resource_metrics.Usage]:
    """Return what the containers of a running pod use."""
    sidecars = [
        each for each in lifecycle.init_containers(pod) if each.get("restartPolicy") == "Always"
    ]
    used = {}
    for each in (*lifecycle.main_containers(pod), *sidecars):
        image = str(each.get("image") or "")
        behaviour = behaviours.of(image, objects.annotations(pod), rules)
        used[str(each["name"])] = resource_metrics.Usage(behaviour.cpu, behaviour.memory)
    return used


def _timing(settings: Settings) -> containers.Timing:
    if not settings.traffic:
        return settings.timing
    stop = max(settings.timing.stop, settings.drain * settings.speed)
    return dataclasses.replace(settings.timing, stop=stop)


def _seed(cluster: Cluster, settings: Settings) -> None:
    """Give a cluster what it starts with, and write its kubeconfig."""
    held, name = cluster.registry, cluster.name
    region = _labels(name, settings).get("region", name)
    stamp = times.stamp(held.time.now())
    bodies = [initial_objects.namespace(each) for each in initial_objects.NAMESPACES]
    bodies.append(initial_objects.kubernetes_service())
    nodes = [
        initial_objects.node(each + 1, region=region, stamp=stamp) for each in range(settings.nodes)
    ]
    options = verbs.Options(manager="kube-apiserver", agent="kube-apiserver")
    kubelet = verbs.Options(manager="kubelet", agent="kubelet")
    try:
        for body in (*bodies, *nodes, *settings.crds):
            namespace = str(body["metadata"].get("namespace", ""))
            held.create(held.kind_of(body), namespace, body, options)
        for node in nodes:
            held.update_status(held.kind_of(node), "", node["metadata"]["name"], node, kubelet)
    except api_errors.StatusError as problem:
        raise errors.UserError(f'cluster "{name}" cannot start: {problem}') from problem
    config = kubeconfig.build(
        name,
        url=cluster.url,
        token=cluster.token,
        authority=cluster.certificate_authority,
    )
    kubeconfig.write(cluster.kubeconfig_path, config)


def _labels(name: str, settings: Settings) -> Mapping[str, str]:
    return settings.labels.get(name) or {"region": name}


def _write(directory: Path, names: Sequence[str], settings: Settings) -> None:
    """Write the fleet file; kubeconfigs are named relative to it."""
    content = {
        "apiVersion": "volary.dev/v1",
        "kind": "Fleet",
        "clusters": [
            {
                "name": name,
                "labels": dict(_labels(name, settings)),
                "kubeconfig": f"{name}.kubeconfig",
            }
            for name in names
        ],
    }
    (directory / FLEET_FILE).write_text(yaml.safe_dump(content, sort_keys=False))
