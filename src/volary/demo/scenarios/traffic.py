"""The demos with real traffic: pods that answer, proxies that follow, metrics that decide."""

import asyncio
import contextlib
import functools
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich import console as rich_console

from kube_sandbox import fleet, proxies
from kube_sandbox.crds import definitions as crd_definitions
from volary.demo import definitions, harness, kept_runs, metrics_source, probe_clients, snapshots
from volary.engine.runs import state
from volary.model import statuses

NAMES = ("us", "eu", "asia")
_SPEED = 4.0
#: Real proxies follow within moments; a busy computer may need some more.
_DRAIN = 2.0


@dataclass(frozen=True, slots=True)
class _Environment:
    """Where the scenario plays, and how users reach it."""

    scenario: definitions.TrafficScenario
    releases: harness.ReleaseEnvironment
    #: Of each cluster's proxy.
    urls: Mapping[str, str]

    def manual_commands(self) -> list[str]:
        """Return what a person may type to look around."""
        width = max(map(len, self.urls))
        header = f"-H 'Host: {self.scenario.address}'"
        curls = [f"{name:{width}} curl {header} {url}" for name, url in self.urls.items()]
        return [*curls, *self.releases.manual_commands()]


async def run(scenario: str, *, keep: bool) -> int:
    """Play one of the scenarios with real requests; 0 when it ended as expected."""
    opens = functools.partial(_open, definitions.TRAFFIC_SCENARIOS[scenario])
    return await harness.play(opens, _play, keep=keep, goes_on=_go_on)


@contextlib.asynccontextmanager
async def _open(
    scenario: definitions.TrafficScenario, messages: rich_console.Console, base: Path
) -> AsyncIterator[_Environment]:
    kind = proxies.Kind.BUILT_IN if proxies.missing(scenario.proxy) else scenario.proxy
    kinds = (
        crd_definitions.istio()
        if scenario.proxy is proxies.Kind.ENVOY
        else crd_definitions.gateway_api()
    )
    settings = fleet.Settings(speed=_SPEED, crds=kinds, traffic=True, drain=_DRAIN)
    async with contextlib.AsyncExitStack() as stack:
        sandbox = await stack.enter_async_context(
            fleet.start(NAMES, directory=base / "fleet", settings=settings)
        )
        harness.add_image_faults(sandbox, scenario.broken_images)
        urls = await stack.enter_async_context(proxies.before(sandbox, kind))
        metrics = await stack.enter_async_context(metrics_source.source(sandbox))
        metrics_source.register(sandbox, metrics)
        releases = await stack.enter_async_context(
            harness.open_releases(messages, base, sandbox, scenario)
        )
        metrics_source.rewrite(releases.repository.directory / "volary.yaml", metrics)
        releases.repository.commit("Ask the metrics that there are")
        messages.print(f"[bold]Volary: one pipeline, every cluster.[/] {scenario.intention}\n")
        messages.print(f"  requests go through {_describe_proxy(scenario.proxy)}, one per cluster")
        messages.print(f"  metrics come from {metrics.words}\n")
        yield _Environment(scenario, releases, urls)


def _describe_proxy(wanted: proxies.Kind) -> str:
    missing = proxies.missing(wanted)
    if missing:
        return f"the sandbox's own proxy, as {missing}"
    return f"real {wanted.value.capitalize()}"


async def _play(environment: _Environment) -> bool:
    scenario, releases = environment.scenario, environment.releases
    messages = releases.console
    messages.print(f"[bold]1.[/] The first version, on {', '.join(NAMES)}: a quick sync\n")
    first = await releases.release()
    if first.status is not statuses.RunStatus.SUCCEEDED:
        return False
    await probe_clients.wait_until_served(scenario, environment.urls)
    releases.show("running now")
    releases.repository.release()
    messages.print("[bold]2.[/] A commit with the new version, under constant load\n")
    users = probe_clients.create(scenario, environment.urls)
    async with asyncio.TaskGroup() as group:
        asking = group.create_task(probe_clients.send_requests(users))
        second = await releases.release(snapshots.StageSnapshots(messages, releases.probe))
        await asyncio.sleep(1)
        asking.cancel()
    releases.show("in the end")
    return _is_as_expected(environment, second, users)


@contextlib.asynccontextmanager
async def _go_on(environment: _Environment, base: Path) -> AsyncIterator[list[str]]:
    """Have users go on asking while a release waits: what is measured decides about it."""
    users = probe_clients.create(environment.scenario, environment.urls)
    async with asyncio.TaskGroup() as group:
        asking = group.create_task(probe_clients.send_requests(users))
        async with kept_runs.one_more_release(environment.releases, base) as pages:
            yield pages
        asking.cancel()


def _is_as_expected(
    environment: _Environment, ended: state.Run, users: Sequence[probe_clients.ProbeClient]
) -> bool:
    scenario, messages = environment.scenario, environment.releases.console
    probe_clients.show(messages, users)
    nothing_lost = probe_clients.check_losses(messages, scenario, users)
    left = [
        f"{name}: {body['metadata']['name']}"
        for name, cluster in environment.releases.sandbox.clusters.items()
        for body in cluster.view.list("Deployment", snapshots.NAMESPACE)
        if body["metadata"]["name"] != scenario.service
    ]
    if left:
        messages.print(f"[red]variants were left behind:[/] {', '.join(left)}")
    is_as_expected = ended.status is scenario.expected and nothing_lost and not left
    if is_as_expected and scenario.lesson:
        messages.print(f"\n{scenario.lesson}")
    return is_as_expected
