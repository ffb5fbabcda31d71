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
async def _open(talk: rich_console.Console, base: Path) -> AsyncIterator[_Environment]:
    settings = fleet.Settings(speed=_SPEED, labels=LABELS)
    async with (
        fleet.start(tuple(LABELS), directory=base / "fleet", settings=settings) as sandbox,
        harness.open_clients(sandbox) as clusters,
    ):
        users = snapshots.TrafficProbe(_SCENARIO.service, sandbox.clusters)
        yield _Environment(talk, sandbox, clusters, base / "git", users)


async def _play(stage: _Environment) -> bool:
    talk = stage.console
    talk.print(f"[bold]Volary: Karmada's policies as they are.[/] {_SCENARIO.intention}\n")
    made = git_repository.create(stage.repository, _SCENARIO)
    # The example's own fleet file names other people's contexts.
    (stage.repository / _SCENARIO.service / "fleet.yaml").unlink()
    git_repository.commit(made, "The fleet is the sandbox's")
    talk.print("[bold]1.[/] Where web goes, and why not elsewhere\n")
    await _explain(stage)
    talk.print("\n[bold]2.[/] The first version, with what each cluster has different\n")
    right = await _released(stage, "v1", "EUR")
    git_repository.release(made, stage.repository, _SCENARIO)
    talk.print("[bold]3.[/] An update: what it will change, then the release\n")
    await _plan(stage)
    right = right and await _released(stage, "v2", "EUR")
    _edit(made, stage)
    talk.print("[bold]4.[/] An edited OverridePolicy is a release as well, for whom it is meant\n")
    await _plan(stage)
    return right and await _released(stage, "v2", "CHF")


async def _explain(stage: _Environment) -> None:
    """Print every cluster of the fleet, and why some are left out."""
    project = await projects.open_project(str(stage.repository), app=_SCENARIO.service)
    members = projects.load_fleet(str(stage.sandbox.path))
    targets.print_table(targets.targets_of(project.application, members), has_waves=False)


async def _plan(stage: _Environment) -> None:
    """Print what ``volary plan`` would."""
    wish = preparation.RunOptions(str(stage.repository), app=_SCENARIO.service)
    project = await projects.open_project(wish.path, app=wish.app)
    prepared = await preparation.prepare(wish, stage.clusters, project)
    shown = await previews.preview_run(prepared, stage.clusters)
    stage.console.print(text_format.render(shown), markup=False, highlight=False)


def _edit(made: pygit2.Repository, stage: _Environment) -> None:
    """Change what one cluster has different."""
    file = stage.repository / _SCENARIO.service / "policies.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace(*_EDIT), encoding="utf-8")
    git_repository.commit(made, "Prices in francs in eu")


async def _released(stage: _Environment, version: str, currency: str) -> bool:
    """Release what is committed; say whether every cluster has what the policies want."""
    ended = await harness.release(
        stage.console, stage.clusters, stage.repository, _SCENARIO.service
    )
    _show(stage)
    found = {name: _described(stage, name) for name in stage.sandbox.clusters}
    return ended.status is statuses.RunStatus.SUCCEEDED and found == _wanted(version, currency)


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


def _show(stage: _Environment) -> None:
    """Print what ``kubectl get`` shows of the objects, a line per cluster."""
    grid = table.Table(box=None, pad_edge=False, show_edge=False)
    for heading in ("CLUSTER", "IMAGE", "READY", "TIER", "$CURRENCY", "SETTINGS"):
        grid.add_column(heading, no_wrap=True)
    for name in stage.sandbox.clusters:
        cells = _described(stage, name) or ("nothing",)
        grid.add_row(name, *map(markup.escape, cells))
    stage.console.print()
    stage.console.print(grid)
    stage.console.print()


def _described(stage: _Environment, name: str) -> Sequence[str]:
    """Return image, pods, label, variable and setting of a cluster; nothing: it has none."""
    workload, settings = stage.find(name, "Deployment"), stage.find(name, "ConfigMap")
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


def _manual_commands(stage: _Environment) -> list[str]:
    return harness.manual_commands(stage.sandbox, stage.repository)
