"""``waves``: which clusters move together, and what has to hold in between; fields and checks."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Literal

from pydantic import Field

from volary.config.decoding import base_sections, readings
from volary.config.stages import webhooks
from volary.config.text import yaml
from volary.model import analysis as model_analysis
from volary.model import options
from volary.model.fleet import selectors
from volary.model.pipeline.stage_kinds import external_stages, waiting_stages
from volary.model.placement import rollouts


class Approval(base_sections.Section):
    """People who have to agree."""

    approvers: list[base_sections.Text] = Field(min_length=1, description="Those who may approve.")
    count: int = options.option("How many of them have to.", 1, least=1)
    timeout: timedelta = options.option("How long it is waited for them.", timedelta(hours=24))


class Gate(base_sections.Section):
    """What has to hold before the next wave starts, or the run succeeds."""

    approval: Approval | None = options.option("People who have to agree.", None)
    webhook: dict[str, object] | None = options.option(
        "A webhook that has to agree: the options of `K8S_WEBHOOK_GATE`.", None
    )
    analysis: dict[str, object] | None = options.option(
        "What is measured and judged on the wave's clusters: the options of `ANALYSIS`, with the "
        "strategies `THRESHOLD`, `PREVIOUS` and `NOT_UPDATED`: the clusters of later waves, which "
        "do not have the release yet.",
        None,
    )


class Wave(base_sections.Section, of=rollouts.Wave):
    """Clusters that move together."""

    gate: Gate = Field(default_factory=Gate, description="What has to hold afterwards.")


class InWaves(base_sections.Section):
    """The fields of a file that moves in waves."""

    waves: list[Wave] = options.option("Clusters that move together, one wave after another.", [])
    waves_over: Literal["pipeline", "stage"] = options.option(
        "`pipeline`: a wave goes through all stages before the next begins; `stage`: all waves do "
        "one stage before any does the next.",
        "pipeline",
    )
    unmatched_clusters: Literal["refuse", "last"] = options.option(
        "What becomes of targets in no wave: `last` is a wave `rest`.", "refuse"
    )
    budget: rollouts.Budget | None = options.option(
        "For the whole run, besides that of each wave.", None
    )


PATH: yaml.Path = ("spec", "waves")
_OF_CANARY = (
    model_analysis.Strategy.CANARY_BASELINE,
    model_analysis.Strategy.CANARY_PRIMARY,
    model_analysis.Strategy.CANARY_BASELINE_PRIMARY,
)


def convert(reading: readings.Reading, read: InWaves) -> rollouts.Waves:
    """Return how the application moves; problems are noted."""
    if not read.waves:
        _without_waves(reading)
    waves = tuple(_wave(reading, wave, (*PATH, place)) for place, wave in enumerate(read.waves))
    _check_names(reading, waves)
    _check_last(reading, waves)
    return rollouts.Waves(
        waves,
        rollouts.WavesOver(read.waves_over),
        rollouts.Unmatched(read.unmatched_clusters),
        read.budget,
    )


def _without_waves(reading: readings.Reading) -> None:
    for key in ("wavesOver", "unmatchedClusters", "budget"):
        if reading.written(("spec", key)) is not None:
            reading.error(("spec", key), f"{key} has no effect without waves", "add waves")


def _wave(reading: readings.Reading, read: Wave, path: yaml.Path) -> rollouts.Wave:
    wave = base_sections.value_of(rollouts.Wave, read)
    if wave.shuffle and wave.order_by:
        reading.error((*path, "shuffle"), "shuffle and orderBy are both given", "keep one of them")
    for key, given in (("size", wave.size), ("maxConcurrency", wave.max_concurrency)):
        if given is not None and not given.number:
            reading.error((*path, key), "must be more than 0")
    if wave.progress_deadline is not None and not wave.progress_deadline:
        reading.error((*path, "progressDeadline"), "must be more than 0")
    if wave.targets is not None:
        check_selector(reading, wave.targets, (*path, "targets"))
    return replace(wave, gate=_gate(reading, read.gate, (*path, "gate")))


def check_selector(
    reading: readings.Reading, read: rollouts.ClusterSelector, path: yaml.Path
) -> None:
    """Note conditions on clusters that can never hold."""
    for place, requirement in enumerate(read.match_fields):
        if requirement.key not in selectors.FIELDS:
            at = (*path, "matchFields", place, "key")
            hint = readings.did_you_mean(requirement.key, selectors.FIELDS)
            reading.error(at, f"a cluster has no field {requirement.key}", hint)
    check_requirements(reading, read.match_expressions, (*path, "matchExpressions"))
    check_requirements(reading, read.match_fields, (*path, "matchFields"))


def check_targets(
    reading: readings.Reading, read: rollouts.ClusterSelector, path: yaml.Path
) -> None:
    """Note what is wrong with the clusters an application or a strategy is for."""
    if read.names and read.match_labels:
        reading.error(path, "names and matchLabels are both given", "keep one of them")
    check_selector(reading, read, path)


def check_requirements(
    reading: readings.Reading, read: Sequence[rollouts.Requirement], path: yaml.Path
) -> None:
    """Note conditions that can never hold."""
    for place, requirement in enumerate(read):
        at = (*path, place, "values")
        needs = requirement.operator in (rollouts.Operator.IN, rollouts.Operator.NOT_IN)
        if needs and not requirement.values:
            reading.error(at, f"{requirement.operator.value} needs values")
        if requirement.values and not needs:
            reading.error(at, f"{requirement.operator.value} takes no values")


def _gate(reading: readings.Reading, read: Gate, path: yaml.Path) -> rollouts.Gate:
    webhook = _webhook(reading, read, (*path, "webhook"))
    judged = _analysis(reading, read, (*path, "analysis"))
    if read.approval is None:
        return rollouts.Gate(webhook=webhook, analysis=judged)
    names = tuple(dict.fromkeys(read.approval.approvers))
    if read.approval.count > len(names):
        message = f"{read.approval.count} people have to approve, but {len(names)} may"
        reading.error((*path, "approval", "count"), message, "name more approvers")
    if not read.approval.timeout:
        reading.error((*path, "approval", "timeout"), "must be more than 0")
    options = waiting_stages.ApprovalOptions(names, read.approval.count)
    return rollouts.Gate(options, read.approval.timeout, webhook, judged)


def _webhook(
    reading: readings.Reading, read: Gate, path: yaml.Path
) -> external_stages.WebhookGateOptions | None:
    if read.webhook is None:
        return None
    written = reading.read(webhooks.WebhookGate, read.webhook, path)
    return None if written is None else webhooks.convert_gate(reading, written, path)


def _analysis(
    reading: readings.Reading, read: Gate, path: yaml.Path
) -> waiting_stages.AnalysisOptions | None:
    if read.analysis is None:
        return None
    # As for a stage that judges: once there is one.
    from volary.config.stages import analysis_rules, metric_sections, pod_rules

    written = reading.read(metric_sections.Analysis, read.analysis, path)
    if written is None:
        return None
    if written.multi_targets:
        reading.error((*path, "multiTargets"), "a gate is for all clusters of its wave")
    for name in (pod_rules.JUDGED, pod_rules.THRESHOLD):
        if reading.written((*path, name)) is not None:
            message = f"{name}: no canary runs at the end of a wave"
            reading.error((*path, name), message, "measure pod-restarts, or pod-oom-kills")
    for place, rule in enumerate((made := analysis_rules.convert(reading, written, path)).metrics):
        if rule.strategy in _OF_CANARY:
            at = (*path, "metrics", place, "strategy")
            message = f"{rule.strategy.value}: no canary runs at the end of a wave"
            reading.error(at, message, "NOT_UPDATED compares with the clusters of later waves")
    return made


def _check_last(reading: readings.Reading, waves: Sequence[rollouts.Wave]) -> None:
    """Note what the last wave would be compared with: nothing is left then."""
    analysis = waves[-1].gate.analysis if waves else None
    for place, rule in enumerate(analysis.metrics if analysis else ()):
        if rule.strategy is model_analysis.Strategy.NOT_UPDATED:
            at = (*PATH, len(waves) - 1, "gate", "analysis", "metrics", place, "strategy")
            message = "NOT_UPDATED: after the last wave every cluster has the release"
            reading.error(at, message, "use THRESHOLD or PREVIOUS there")


def _check_names(reading: readings.Reading, waves: Sequence[rollouts.Wave]) -> None:
    seen: set[str] = set()
    for place, wave in enumerate(waves):
        if wave.name in seen or (wave.name == "rest" and place < len(waves) - 1):
            what = "is listed twice" if wave.name in seen else "is the name of the last wave"
            reading.error((*PATH, place, "name"), f"the wave {wave.name} {what}")
        seen.add(wave.name)
        takes_all = wave.targets is None and wave.size is None and not wave.one_per
        if takes_all and place < len(waves) - 1:
            message = f"{wave.name} takes every cluster, none is left for the waves below it"
            reading.error((*PATH, place), message, "add targets, a size or onePer")
