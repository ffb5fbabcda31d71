"""``volary demo``: the main job on emulated clusters, from an empty fleet to a release."""

import asyncio
import functools

from kube_sandbox import fleet
from kube_sandbox.crds import definitions as crd_definitions
from volary.demo import definitions, harness, kept_runs, snapshots
from volary.engine.runs import state
from volary.model import statuses

NAMES = ("us", "eu", "asia")
#: Pods take as long as small ones with a cached image do.
_SPEED = 4.0


async def run(scenario: str, *, keep: bool) -> int:
    """Play one of the scenarios without real requests; 0 when it ended as expected."""
    chosen = definitions.SCENARIOS[scenario]
    crds = crd_definitions.istio() if chosen.needs_istio else ()
    settings = fleet.Settings(speed=_SPEED, crds=crds)
    opens = functools.partial(harness.open_sandbox, chosen, NAMES, settings)
    return await harness.play(opens, _play, keep=keep, goes_on=kept_runs.one_more_release)


async def _play(environment: harness.ReleaseEnvironment) -> bool:
    scenario, messages = environment.scenario, environment.console
    messages.print(f"[bold]Volary: one pipeline, every cluster.[/] {scenario.intention}\n")
    messages.print(f"[bold]1.[/] The first version, on {', '.join(NAMES)}: a quick sync\n")
    first = await environment.release()
    if first.status is not statuses.RunStatus.SUCCEEDED:
        return False
    environment.show("running now")
    environment.repository.release()
    messages.print("[bold]2.[/] A commit with the new version: the pipeline\n")
    async with asyncio.TaskGroup() as group:
        watching = group.create_task(environment.probe.watch())
        second = await environment.release(snapshots.StageSnapshots(messages, environment.probe))
        watching.cancel()
    environment.show("in the end")
    return _is_as_expected(environment, second)


def _is_as_expected(environment: harness.ReleaseEnvironment, ended: state.Run) -> bool:
    probe, messages = environment.probe, environment.console
    lost = probe.lost / probe.samples if probe.samples else 0.0
    messages.print(
        f"{probe.samples} probe requests to {probe.service} during the release, {lost:.1%} failed"
    )
    for reason in list(probe.reasons)[:3]:
        messages.print(f"  {reason}", markup=False)
    return ended.status is environment.scenario.expected and not lost
