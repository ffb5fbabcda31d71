"""A plan in words, before the run begins."""

from collections.abc import Sequence

import msgspec
from rich import console as rich_console
from rich import markup

from volary.controller.api import assigned_replicas
from volary.controller.planning import preparation
from volary.engine.runs import policies
from volary.model import json, phrases
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import (
    external_stages,
    rollout_stages,
    stage_kind,
    traffic_stages,
    waiting_stages,
)
from volary.placement.replicas import assignment_formats

_SCOPE_SUFFIX = {stage_kind.Scope.CLUSTER: "", stage_kind.Scope.FLEET: " of the fleet"}
#: So many clusters are named in full.
_MOST_NAMED = 8


def show(console: rich_console.Console, prepared: preparation.PreparedRun) -> None:
    """Print what is going to happen, where, and why."""
    opened, decided = prepared.opened, prepared.plan
    subject = f" ({markup.escape(opened.subject)})" if opened.subject else ""
    commit = phrases.short_commit(opened.commit)
    console.print(f"[bold]{markup.escape(opened.application.name)}[/] {commit}{subject}")
    running = prepared.running
    before = phrases.short_commit(running.commit) if running.commit else "nothing yet"
    console.print(f"  running  {before}: {markup.escape(running.reason)}")
    console.print(f"  targets  {_names(decided.targets)}")
    for number, wave in enumerate(prepared.waves.rules, start=1):
        described = f"{wave.name}: {_names(wave.targets) or 'no cluster'}{_limits(wave)}"
        console.print(f"  wave {number}   {markup.escape(described)}")
    strategy = decided.strategy.value.replace("_", " ")
    console.print(f"  strategy {strategy}: {markup.escape(decided.summary)}")
    for version in decided.versions:
        where = "" if len(version.targets) == len(decided.targets) else _names(version.targets)
        suffix = f" ({where})" if where else ""
        console.print(f"  image    {markup.escape(version.image)}{suffix}")
    for line in assignment_formats.describe(prepared.numbers.now):
        console.print(f"  replicas {markup.escape(line)}")
    for number, stage in enumerate(decided.stages, start=1):
        limit = f" on {_names(stage.targets)}" if stage.targets else ""
        text = f"{stage.name}{limit}{_options(stage)}"
        console.print(f"  stage {number}  {text}  [dim]{markup.escape(stage.description)}[/]")

    for skipped in decided.skipped:
        reason = markup.escape(skipped.reason)
        console.print(f"  [dim]skipped  {skipped.name}: {reason}[/]")


def to_json(prepared: preparation.PreparedRun) -> json.JsonObject:
    """Return the plan as the first line of ``--output json``."""
    decided = prepared.plan
    return {
        "event": "planned",
        "application": prepared.opened.application.name,
        "commit": prepared.opened.commit,
        "runningCommit": prepared.running.commit,
        "strategy": decided.strategy.value,
        "reason": decided.summary,
        "targets": list(decided.targets),
        "waves": [
            {
                "name": wave.name,
                "targets": list(wave.targets),
                "maxConcurrency": wave.concurrency or len(wave.targets),
                "failures": wave.failures,
                "unreachable": wave.unreachable,
                "onFailure": wave.on_failure.value,
                "onUnreachable": wave.on_unreachable.value,
            }
            for wave in prepared.waves.rules
        ],
        "replicas": msgspec.to_builtins(assigned_replicas.of_assignment(prepared.numbers.now)),
        "images": [version.image for version in decided.versions],
        "stages": [
            {"name": stage.name, "targets": list(stage.targets or decided.targets)}
            for stage in decided.stages
        ],
        "skipped": [
            {"name": skipped.name, "reason": skipped.reason} for skipped in decided.skipped
        ],
    }


def _limits(wave: policies.WaveRule) -> str:
    """Return what is particular about a wave, in brackets; empty when nothing is."""
    parts = [f"{wave.concurrency} at once"] if wave.concurrency else []
    parts += [f"{wave.failures} may fail"] if wave.failures else []
    parts += [f"{wave.unreachable} may be unreachable"] if wave.unreachable else []
    return f" ({', '.join(parts)})" if parts else ""


def _names(targets: Sequence[str]) -> str:
    """Name the clusters, of many the first."""
    count = f"{len(targets)} clusters: " if len(targets) > _MOST_NAMED else ""
    return f"{count}{phrases.first_of(targets, _MOST_NAMED)}"


def _steps(options: traffic_stages.ProgressiveTrafficOptions) -> str:
    """Return the steps of progressive traffic, such as ``by 10% to 50% every 60s``."""
    every = f"every {options.interval.total_seconds():g}s"
    if options.iterations:
        return f"{options.iterations} checks {every}"
    if options.step_weights:
        return f"{', '.join(map(str, options.step_weights))}% {every}"
    return f"by {options.step_weight}% to {options.max_weight}% {every}"


def _options(stage: pipelines.Stage) -> str:
    match stage.options:
        case traffic_stages.TrafficOptions(
            primary=primary, canary=canary, baseline=baseline, of=of
        ):
            return f" {primary}/{canary}/{baseline}{_SCOPE_SUFFIX[of]}"
        case rollout_stages.VariantRolloutOptions(replicas=replicas, of=of) if replicas:
            return f" {replicas}{_SCOPE_SUFFIX[of]}"
        case waiting_stages.WaitOptions(duration=duration):
            return f" {duration.total_seconds():g}s"
        case traffic_stages.ProgressiveTrafficOptions():
            return f" {_steps(stage.options)}"
        case external_stages.WebhookGateOptions(webhook=webhook):
            return f" {webhook.name}"
        case _:
            return ""
