"""``volary demo --scenario karmada``: Karmada's policies as they are, and no file of Volary's."""

import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pygit2
from rich import console as rich_console
from rich import markup, table

from kube_sandbox import fleet
from volary.cli.local import targets
from volary.controller.planning import preparation, projects
from volary.controller.preview import previews, text_format
from volary.demo import definitions, git_repository, harness, snapshots
from volary.model import json, statuses

#: What the example's policies choose by; attic is excluded by name, lab has another label.
LABELS: Mapping[str, Mapping[str, str]] = {
    "us": {"env": "prod", "region": "us"},
    "eu": {"env": "prod", "region": "eu"},
    "asia": {"env": "prod", "region": "asia"},
    "attic": {"env": "prod", "region": "us"},
    "lab": {"env": "test", "region": "us"},
}
#: Eight replicas, two parts to us and one each to the others.
_DIVIDED = {"us": 4, "eu": 2, "asia": 2}
_SPEED = 8.0
#: The person who edits a policy for one cluster.
_EDIT = ("value: EUR", "value: CHF")

_SCENARIO = definitions.Scenario(
    example="karmada",
    service="web",
    intention="A PropagationPolicy says where to and how many, OverridePolicies what differs.",
    change=("example/web:v1", "example/web:v2"),
    subject="Release web v2",
)


@dataclass(frozen=True, slots=True)
class _Environment(harness.Environment):
    """Where the story plays."""

    def find(self, cluster: str, kind: str) -> json.JsonObject | None:
        """Return the example's object of a kind."""
        view = self.sandbox.clusters[cluster].view
        return view.get(kind, snapshots.NAMESPACE, _SCENARIO.service)


async def run(*, keep: bool) -> int:
    """Tell the story; 0 when it ended as it has to."""
    return await harness.play(_open, _play, _manual_commands if keep else None)


@contextlib.asynccontextmanager
async def _open(messages: rich_console.Console, base: Path) -> AsyncIterator[_Environment]:
    settings = fleet.Settings(speed=_SPEED, labels=LABELS)
    async with (
        fleet.start(tuple(LABELS), directory=base / "fleet", settings=settings) as sandbox,
        harness.open_clients(sandbox) as clusters,
    ):
        users = snapshots.TrafficProbe(_SCENARIO.service, sandbox.clusters)
        yield _Environment(messages, sandbox, clusters, base / "git", users)


async def _play(environment: _Environment) -> bool:
    messages = environment.console
    messages.print(f"[bold]Volary: Karmada's policies as they are.[/] {_SCENARIO.intention}\n")
    made = git_repository.create(environment.repository, _SCENARIO)
    # The example's own fleet file names other people's contexts.
    (environment.repository / _SCENARIO.service / "fleet.yaml").unlink()
    git_repository.commit(made, "The fleet is the sandbox's")
    messages.print("[bold]1.[/] Where web goes, and why not elsewhere\n")
    await _explain(environment)
    messages.print("\n[bold]2.[/] The first version, with what each cluster has different\n")
    right = await _released(environment, "v1", "EUR")
    git_repository.release(made, environment.repository, _SCENARIO)
    messages.print("[bold]3.[/] An update: what it will change, then the release\n")
    await _plan(environment)
    right = right and await _released(environment, "v2", "EUR")
    _edit(made, environment)
    messages.print(
        "[bold]4.[/] An edited OverridePolicy is a release as well, for whom it is meant\n"
    )
    await _plan(environment)
    return right and await _released(environment, "v2", "CHF")


async def _explain(environment: _Environment) -> None:
    """Print every cluster of the fleet, and why some are left out."""
    project = await projects.open_project(str(environment.repository), app=_SCENARIO.service)
    members = projects.load_fleet(str(environment.sandbox.path))
    targets.print_table(targets.targets_of(project.application, members), has_waves=False)


async def _plan(environment: _Environment) -> None:
    """Print what ``volary plan`` would."""
    request = preparation.RunOptions(str(environment.repository), app=_SCENARIO.service)
    project = await projects.open_project(request.path, app=request.app)
    prepared = await preparation.prepare(request, environment.clusters, project)
    shown = await previews.preview_run(prepared, environment.clusters)
    environment.console.print(text_format.render(shown), markup=False, highlight=False)


def _edit(made: pygit2.Repository, environment: _Environment) -> None:
    """Change what one cluster has different."""
    file = environment.repository / _SCENARIO.service / "policies.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace(*_EDIT), encoding="utf-8")
    git_repository.commit(made, "Prices in francs in eu")


async def _released(environment: _Environment, version: str, currency: str) -> bool:
    """Release what is committed; say whether every cluster has what the policies ask for."""
    ended = await harness.release(
        environment.console, environment.clusters, environment.repository, _SCENARIO.service
    )
    _show(environment)
    descriptions = {name: _described(environment, name) for name in environment.sandbox.clusters}
    return ended.status is statuses.RunStatus.SUCCEEDED and descriptions == _wanted(
        version, currency
    )


def _wanted(version: str, currency: str) -> dict[str, Sequence[str]]:
    """What the example's policies make of the workload, cluster by cluster."""
    image = f"example/web:{version}"
    wanted: dict[str, Sequence[str]] = {
        name: (image, f"{count}/{count}", "shared", "USD", "USD")
        for name, count in _DIVIDED.items()
    }
    wanted["eu"] = (f"eu.example.org/{image}", "2/2", "gold", currency, "USD")
    wanted["asia"] = (image, "2/2", "shared", "USD", "JPY")
    return {name: wanted.get(name, ()) for name in LABELS}


def _show(environment: _Environment) -> None:
    """Print what ``kubectl get`` shows of the objects, a line per cluster."""
    grid = table.Table(box=None, pad_edge=False, show_edge=False)
    for heading in ("CLUSTER", "IMAGE", "READY", "TIER", "$CURRENCY", "SETTINGS"):
        grid.add_column(heading, no_wrap=True)
    for name in environment.sandbox.clusters:
        cells = _described(environment, name) or ("nothing",)
        grid.add_row(name, *map(markup.escape, cells))
    environment.console.print()
    environment.console.print(grid)
    environment.console.print()


def _described(environment: _Environment, name: str) -> Sequence[str]:
    """Return image, pods, label, variable and setting of a cluster; nothing: it has none."""
    workload, settings = environment.find(name, "Deployment"), environment.find(name, "ConfigMap")
    if workload is None or settings is None:
        return ()
    spec = workload["spec"]
    container = spec["template"]["spec"]["containers"][0]
    ready = workload.get("status", {}).get("readyReplicas", 0)
    (currency,) = [
        line.partition(": ")[2]
        for line in settings["data"]["settings.yaml"].splitlines()
        if line.startswith("currency: ")
    ]
    return (
        container["image"],
        f"{ready}/{spec['replicas']}",
        workload["metadata"]["labels"]["tier"],
        container["env"][0]["value"],
        currency,
    )


def _manual_commands(environment: _Environment) -> list[str]:
    return harness.manual_commands(environment.sandbox, environment.repository)
