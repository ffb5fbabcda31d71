"""``volary demo --scenario karmada``: Karmada's policies as they are, and no file of Volary's."""

import contextlib
import functools
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

from kube_sandbox import fleet
from volary.cli import console
from volary.cli.local import targets
from volary.controller.planning import opened_applications, preparation
from volary.controller.preview import previews, text_format
from volary.demo import definitions, harness, kept_runs, snapshots
from volary.model import statuses

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
#: A change of the policy for one cluster.
_EDIT = {"value: EUR": "value: CHF"}

#: A release without a pipeline asks nobody. That it can be watched, its pods in one cluster take
#: their time, in seconds of the sandbox, and their Deployment has the patience.
_SLOW, _START = "asia", "86400s"
_PATIENCE = {"  replicas: 8\n": "  replicas: 8\n  progressDeadlineSeconds: 172800\n"}

_SCENARIO = definitions.Scenario(
    example="karmada",
    service="web",
    asks_before="",
    intention="A PropagationPolicy says where to and how many, OverridePolicies what differs.",
)


async def run(*, keep: bool) -> int:
    """Play the scenario; 0 when it ended as expected."""
    settings = fleet.Settings(speed=_SPEED, labels=LABELS)
    opens = functools.partial(harness.open_sandbox, _SCENARIO, tuple(LABELS), settings)
    return await harness.play(opens, _play, keep=keep, goes_on=_go_on)


async def _play(environment: harness.ReleaseEnvironment) -> bool:
    messages, repository = environment.console, environment.repository
    messages.print(f"[bold]Volary: Karmada's policies as they are.[/] {_SCENARIO.intention}\n")
    # The example's own fleet file names other people's contexts.
    (repository.directory / "fleet.yaml").unlink()
    repository.commit("The fleet is the sandbox's")
    messages.print("[bold]1.[/] Where web goes, and why not elsewhere\n")
    await _explain(environment)
    messages.print("\n[bold]2.[/] The first version, with what each cluster has different\n")
    right = await _released(environment, "v1", "EUR")
    repository.release()
    messages.print("[bold]3.[/] An update: what it will change, then the release\n")
    await _plan(environment)
    right = right and await _released(environment, "v2", "EUR")
    repository.edit(_EDIT, "Prices in francs in eu")
    messages.print(
        "[bold]4.[/] An edited OverridePolicy is a release as well, for whom it is meant\n"
    )
    await _plan(environment)
    return right and await _released(environment, "v2", "CHF")


@contextlib.asynccontextmanager
async def _go_on(environment: harness.ReleaseEnvironment, base: Path) -> AsyncIterator[list[str]]:
    """Release one version more, which one cluster is slow to start."""
    harness.add_image_faults(environment.sandbox, {_SLOW: {"*/web:v3": f"start-delay={_START}"}})
    environment.repository.edit(_PATIENCE, "Patience with slow starts")
    async with kept_runs.one_more_release(environment, base) as pages:
        yield pages


async def _explain(environment: harness.ReleaseEnvironment) -> None:
    """Print every cluster of the fleet, and why some are left out."""
    opened = await opened_applications.open_application(
        str(environment.repository.path), app=_SCENARIO.service
    )
    members = opened_applications.load_fleet(str(environment.sandbox.path))
    targets.print_table(targets.targets_of(opened.application, members), has_waves=False)


async def _plan(environment: harness.ReleaseEnvironment) -> None:
    """Print what ``volary plan`` would."""
    request = preparation.RunOptions(str(environment.repository.path), app=_SCENARIO.service)
    opened = await opened_applications.open_application(request.path, app=request.app)
    prepared = await preparation.prepare(request, environment.clusters, opened)
    shown = await previews.preview_run(prepared, environment.clusters)
    environment.console.print(text_format.render(shown), markup=False, highlight=False)


async def _released(environment: harness.ReleaseEnvironment, version: str, currency: str) -> bool:
    """Release what is committed; say whether every cluster has what the policies ask for."""
    ended = await environment.release()
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


def _show(environment: harness.ReleaseEnvironment) -> None:
    """Print what ``kubectl get`` shows of the objects, a line per cluster."""
    rows: list[Sequence[str]] = [("CLUSTER", "IMAGE", "READY", "TIER", "$CURRENCY", "SETTINGS")]
    for name in environment.sandbox.clusters:
        cells = _described(environment, name) or ("nothing", "", "", "", "")
        rows.append((name, *cells))
    lines = "\n".join(console.aligned(rows))
    environment.console.print(f"\n{lines}\n", markup=False)


def _described(environment: harness.ReleaseEnvironment, name: str) -> Sequence[str]:
    """Return image, pods, label, variable and setting of a cluster; nothing: it has none."""
    view = environment.sandbox.clusters[name].view
    workload = view.get("Deployment", snapshots.NAMESPACE, _SCENARIO.service)
    settings = view.get("ConfigMap", snapshots.NAMESPACE, _SCENARIO.service)
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
