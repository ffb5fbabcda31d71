"""Given clusters and an application in two versions; when a stage runs; then look.

The vocabulary of the stage scenarios. Nothing here knows how stages work: it runs them on
every cluster at once, as the engine does, and looks at the clusters afterwards.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import process_time
from kube_sandbox import fleet
from kube_sandbox import traffic as kube_sandbox_traffic
from kube_sandbox.crds import definitions as crd_definitions
from volary.clusters.client import client_pool
from volary.clusters.transport import circuit_breaker, retries, transports
from volary.engine import executor
from volary.engine.runs import state
from volary.model import applications, errors, json, statuses
from volary.model.fleet import fleets
from volary.model.objects import manifest
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages, stage_kind
from volary.stages import executor as stage_executor
from volary.stages.runtime import contexts

KEY = "pipecd.dev/variant"
OLD, NEW = "1" * 40, "2" * 40
#: Sandbox seconds per second: a pull of 0.8 s takes 40 ms.
SPEED = 20.0
#: A lost cluster is known to be lost within a second, not five, and asked again as soon.
LIMITS = transports.Limits(
    retry=retries.Policy(base=timedelta(milliseconds=60)),
    circuit=circuit_breaker.Rules(lasting=0.5, pause=0.5),
    discovery_pause=0.2,
    stop_grace=0.2,
)


class Clock:
    def now(self) -> datetime:
        return process_time.now()


@dataclass
class Report:
    """Keeps what a task said."""

    lines: list[str] = field(default_factory=list)
    progress_said: list[state.Progress] = field(default_factory=list)
    found_out: list[tuple[str, str, json.JsonObject]] = field(default_factory=list)

    def log(self, line: str, *, level: executor.LogLevel = executor.LogLevel.INFO) -> None:
        self.lines.append(line)

    def progress(self, progress: state.Progress) -> None:
        self.progress_said.append(progress)

    def found(self, kind: str, metric: str, document: json.JsonObject) -> None:
        self.found_out.append((kind, metric, document))

    def took_over(self, title: str, claimant: str) -> None: ...


@dataclass
class World:
    """Running clusters and one application."""

    running: fleet.Fleet
    clients: client_pool.ClientPool
    application: applications.Application
    #: Manifests by commit; what a target renders differently by (commit, target).
    sources: dict[str, list[manifest.Manifest]]
    special: dict[tuple[str, str], list[manifest.Manifest]] = field(default_factory=dict)
    reports: dict[str, Report] = field(default_factory=dict)
    options: contexts.Options = field(
        default_factory=lambda: contexts.Options(image_grace=timedelta(seconds=0.3))
    )
    stops: dict[str, executor.StopFlag] = field(default_factory=dict)
    #: None: a new one for each stage.
    performer: stage_executor.ClusterExecutor | None = None
    #: The stages of one run so far.
    begun: list[pipelines.Stage] = field(default_factory=list)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.running.clusters)

    async def run(
        self,
        name: str,
        options: stage_kind.StageOptions,
        *,
        targets: Sequence[str] = (),
        commit: str = NEW,
        running: str = OLD,
        limit: float = 15.0,
    ) -> dict[str, statuses.Outcome]:
        """Run a stage on every cluster, or on some, at once."""

        carrying = self.performer or self._executor()
        chosen = tuple(targets) or self.names
        self.reports = {target: Report() for target in chosen}
        outcomes = await asyncio.gather(
            *(
                carrying.execute(
                    executor.TaskContext(
                        run_id="run",
                        application=self.application.name,
                        commit=commit,
                        running_commit=running,
                        stage_id=name,
                        stage=pipelines.Stage(name, options),
                        target=target,
                        attempt=1,
                        deadline=Clock().now() + timedelta(seconds=limit),
                        begun=tuple(self.begun),
                        stop=self.stops.setdefault(target, executor.StopFlag()),
                    ),
                    self.reports[target],
                )
                for target in chosen
            )
        )
        if self.performer is not None:
            self.begun.append(pipelines.Stage(name, options))
        return dict(zip(chosen, outcomes, strict=True))

    def _executor(self) -> stage_executor.ClusterExecutor:
        async def render(at: str, target: str) -> list[manifest.Manifest]:
            return self.special.get((at, target)) or self.sources[at]

        return stage_executor.ClusterExecutor(
            self.application, self.clients, render, Clock(), self.options
        )

    @contextlib.asynccontextmanager
    async def one_run(self) -> AsyncIterator[None]:
        """Given: the stages in the block belong to one run, and so share what it knows."""
        self.performer = self._executor()
        try:
            yield
        finally:
            self.performer = None
            self.begun.clear()

    async def deployed(self, commit: str = OLD, *, targets: Sequence[str] = ()) -> None:
        """Given: a version runs everywhere."""
        options = replace(self.application.quick_sync, prune=False)
        found = await self.run(
            rollout_stages.SYNC.name, options, commit=commit, running="", targets=targets
        )
        for target, each in found.items():
            assert each.status == "succeeded", (target, each)

    def get(self, target: str, kind: str, name: str, namespace: str = "default") -> json.JsonObject:
        """Then: an object that has to be there."""
        found = self.find(target, kind, name, namespace)
        assert found is not None, f"{target} has no {kind} {namespace}/{name}"
        return found

    def find(
        self, target: str, kind: str, name: str, namespace: str = "default"
    ) -> json.JsonObject | None:
        return self.running.clusters[target].view.get(kind, namespace, name)

    def count(self, target: str, kind: str, namespace: str = "default", **labels: str) -> int:
        listed = self.running.clusters[target].view.list(kind, namespace)
        return sum(
            labels.items() <= (each["metadata"].get("labels") or {}).items() for each in listed
        )

    def images(self, target: str, name: str = "shop") -> str:
        """Then: what a Deployment runs, as ``image ready/wanted``."""
        body = self.get(target, "Deployment", name)
        container = body["spec"]["template"]["spec"]["containers"][0]
        ready = body.get("status", {}).get("readyReplicas", 0)
        return f"{container['image']} {ready}/{body['spec']['replicas']}"

    def traffic(self, target: str, namespace: str = "default") -> kube_sandbox_traffic.Traffic:
        cluster = self.running.clusters[target]
        return kube_sandbox_traffic.resolve(
            cluster.view, namespace, "shop", rules=cluster.faults.images
        )

    @contextlib.asynccontextmanager
    async def watched_traffic(self, target: str) -> AsyncIterator[list[str]]:
        """Look at the traffic after every change in a cluster; collects what was lost."""
        lost: list[str] = []
        cluster = self.running.clusters[target]

        def look(_change: object) -> None:
            seen = self.traffic(target)
            if seen.lost > 0:
                lost.extend(seen.reasons or ("requests failed",))

        unsubscribe = cluster.registry.subscribe(look)
        try:
            yield lost
        finally:
            unsubscribe()


@contextlib.asynccontextmanager
async def world(
    *names: str,
    application: applications.Application | None = None,
    namespaces: Mapping[str, tuple[str, ...]] | None = None,
    istio: bool = False,
    definitions: Sequence[json.JsonObject] = (),
    settings: fleet.Settings | None = None,
    limits: transports.Limits = LIMITS,
) -> AsyncIterator[World]:
    """Start clusters, and describe a shop in two versions."""
    settings = settings or fleet.Settings(
        speed=SPEED,
        tls=False,
        seed=1,
        crds=(*(crd_definitions.istio() if istio else ()), *definitions),
    )
    async with (
        fleet.start(names, settings=settings) as running,
        client_pool.open_pool(
            _members(running, namespaces or {}), clock=Clock(), limits=limits
        ) as clients,
    ):
        described = application or applications.Application(name="shop")
        sources = {OLD: shop("shop:v1"), NEW: shop("shop:v2")}
        given = World(running, clients, described, sources)
        # Nobody is late here; the proxies of sandbox pods follow within moments.
        settle = timedelta(seconds=1.0 if settings.traffic else 0.1)
        given.options = replace(given.options, drain_delay=settle)
        yield given


def _members(running: fleet.Fleet, namespaces: Mapping[str, tuple[str, ...]]) -> fleets.Fleet:
    return fleets.Fleet(
        tuple(
            fleets.Cluster(
                name,
                kubeconfig=(str(cluster.kubeconfig_path),),
                namespaces=namespaces.get(name, ()),
            )
            for name, cluster in running.clusters.items()
        )
    )


def made(body: json.JsonObject, file: str = "manifests.yaml") -> manifest.Manifest:
    return manifest.Manifest(body, errors.Location(file, 1))


def deployment(
    image: str, *, name: str = "shop", replicas: int = 2, **labels: str
) -> json.JsonObject:
    selector = labels or {"app": name, KEY: "primary"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": selector},
            "template": {
                "metadata": {"labels": selector},
                "spec": {
                    "containers": [
                        {"name": name, "image": image, "ports": [{"containerPort": 8080}]}
                    ]
                },
            },
        },
    }


def service(**selector: str) -> json.JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "shop"},
        "spec": {
            "selector": selector or {"app": "shop", KEY: "primary"},
            "ports": [{"port": 80, "targetPort": 8080}],
        },
    }


def config(name: str = "settings", **data: str) -> json.JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name},
        "data": data or {"greeting": "hello"},
    }


def shop(image: str) -> list[manifest.Manifest]:
    """A Deployment of two pods behind a Service, and its settings."""
    return [made(deployment(image)), made(service()), made(config())]


def virtual_service(**weights: int) -> json.JsonObject:
    route = [
        {"destination": {"host": "shop", "subset": subset}, "weight": weight}
        for subset, weight in (weights or {"primary": 100}).items()
    ]
    return {
        "apiVersion": "networking.istio.io/v1",
        "kind": "VirtualService",
        "metadata": {"name": "shop"},
        "spec": {"hosts": ["shop"], "http": [{"name": "main", "route": route}]},
    }


def destination_rule() -> json.JsonObject:
    return {
        "apiVersion": "networking.istio.io/v1",
        "kind": "DestinationRule",
        "metadata": {"name": "shop"},
        "spec": {
            "host": "shop",
            "subsets": [
                {"name": each, "labels": {KEY: each}} for each in ("primary", "canary", "baseline")
            ],
        },
    }
