"""Reads the options of stages, of whatever kind, into those of the model, and checks them."""

import re
from dataclasses import replace
from typing import Any, cast

from volary.config.decoding import base_sections, file_paths, readings
from volary.config.stages import (
    analysis_rules,
    metric_sections,
    progressive_rules,
    stage_entries,
    stage_sections,
    traffic_weights,
    webhooks,
)
from volary.config.text import yaml
from volary.model import routing_options
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import (
    added_stages,
    catalog,
    external_stages,
    rollout_stages,
    stage_kind,
    waiting_stages,
)

#: A script that is longer belongs into a file of the repository.
_LARGEST_SCRIPT = 64 * 1024
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def _check_script(
    reading: readings.Reading, read: external_stages.ScriptOptions, path: yaml.Path
) -> None:
    for name, script in (("run", read.run), ("onRollback", read.on_rollback)):
        if "\x00" in script:
            reading.error((*path, name), "must not contain NUL")
        if len(script.encode()) > _LARGEST_SCRIPT:
            message = f"is longer than {_LARGEST_SCRIPT // 1024} KiB"
            reading.error((*path, name), message, "keep it in a file and run that")
        if name == "run" and not script.strip():
            reading.error((*path, name), "must not be empty")
    for name, value in read.env.items():
        here = (*path, "env", name)
        if not _VARIABLE.fullmatch(name):
            reading.error(here, f"{name[:80]!r} is not a name of a variable")
        elif name.startswith("SR_"):
            message = f"{name} takes the place of a variable that Volary sets"
            reading.lenient(here, message, "choose another name")
        if "\x00" in value:
            reading.error(here, "must not contain NUL")


def convert(
    reading: readings.Reading,
    entry: stage_entries.StageEntry,
    method: routing_options.RoutingMethod,
    path: yaml.Path,
) -> pipelines.Stage | None:
    """Return the stage at `path`, which ends with its index; None when it has an error."""
    name = _name(reading, entry.name, (*path, "name"))
    if name is None:
        return None
    at, kind = (*path, "with"), catalog.of(name)
    read = reading.read(stage_sections.section(kind), entry.with_, at)
    stage_entries.check_duration(reading, entry.timeout, (*path, "timeout"))
    if read is None:
        return None
    converted = _options(reading, kind, read, method, at)
    if converted is None:
        return None
    file_paths.check_patterns(reading, entry.skip_on.paths, (*path, "skipOn", "paths"))
    progressive_rules.check_time(reading, converted, entry.timeout, path)
    return pipelines.Stage(
        name=name,
        options=converted,
        index=cast("int", path[-1]),
        description=entry.desc,
        timeout=entry.timeout,
        targets=tuple(getattr(read, "multi_targets", ())),
        skip_on=entry.skip_on,
        beside=_stage_analysis(reading, name, entry, path),
    )


def _stage_analysis(
    reading: readings.Reading,
    name: str,
    entry: stage_entries.StageEntry,
    path: yaml.Path,
) -> waiting_stages.AnalysisOptions | None:
    """Return what is measured while the stage is carried out; None: nothing."""
    at = (*path, "analysis")
    if entry.analysis is None:
        return None
    instead = catalog.of(name).instead_of_analysis
    if instead:
        reading.error(at, f"nothing is measured beside {name} this way", instead)
        return None
    read = reading.read(metric_sections.StageAnalysis, entry.analysis, at)
    return None if read is None else analysis_rules.convert_stage_analysis(reading, read, at)


def _name(reading: readings.Reading, name: str, path: yaml.Path) -> str | None:
    canonical = stage_kind.canonical(name)
    names = tuple(kind.name for kind in catalog.listed())
    if canonical == added_stages.ROLLBACK.name:
        hint = "remove it; planner.autoRollback decides whether failed runs are rolled back"
        reading.error(path, f"{name} must not be listed: Volary adds it when it is needed", hint)
    elif canonical not in names:
        reading.error(path, f"unknown stage {name}", readings.did_you_mean(canonical, names))
    else:
        return canonical
    return None


def _options(
    reading: readings.Reading,
    kind: stage_kind.StageKind[Any],
    read: base_sections.Section,
    method: routing_options.RoutingMethod,
    path: yaml.Path,
) -> stage_kind.StageOptions | None:
    match read:
        case stage_sections.Traffic():
            return traffic_weights.convert(reading, read, method, path)
        case stage_sections.ProgressiveTraffic():
            return progressive_rules.convert(reading, read, method, path)
        case stage_sections.BlueGreen():
            return progressive_rules.convert_blue_green(reading, read, path)
        case webhooks.WebhookGate():
            return webhooks.convert_gate(reading, read, path)
        case metric_sections.Analysis():
            return analysis_rules.convert(reading, read, path)
        case stage_sections.CanaryRollout():
            patches = tuple(read.patches)
            options = base_sections.value_of(kind.options, read, patches=patches)
        case _:
            options = base_sections.value_of(kind.options, read)
    return _checked(reading, options, path)


def _checked(
    reading: readings.Reading, options: stage_kind.StageOptions, path: yaml.Path
) -> stage_kind.StageOptions | None:
    """Return options as they are used; None where they cannot be, which is noted then."""
    match options:
        case rollout_stages.VariantRolloutOptions():
            _check_replicas(reading, options.replicas, (*path, "replicas"))
            _check_share(reading, options, path)
            some = options.replicas if options.replicas and options.replicas.number else None
            return replace(options, replicas=some)
        case external_stages.ScriptOptions():
            _check_script(reading, options, path)
        case waiting_stages.WaitOptions():
            stage_entries.check_duration(reading, options.duration, (*path, "duration"))
        case waiting_stages.ApprovalOptions():
            return _approval(reading, options, path)
    return options


def _check_replicas(
    reading: readings.Reading, replicas: rollout_stages.Replicas | None, path: yaml.Path
) -> None:
    written = reading.written(path)
    if isinstance(written, float):
        then = f"{int(written)} is used"
        reading.lenient(path, f"{written} is not a whole number", then=then)
    elif written is not None and (replicas is None or not replicas.number):
        reading.lenient(path, "zero pods are not possible", then="PipeCD's default of 1 is used")
    elif replicas and replicas.is_percentage and replicas.number > 100:
        reading.warn(path, f"{replicas} is more pods than primary has")


def _check_share(
    reading: readings.Reading, read: rollout_stages.VariantRolloutOptions, path: yaml.Path
) -> None:
    """Note a share of the fleet that is none, and what has no effect without one."""
    if read.of is stage_kind.Scope.FLEET:
        if read.replicas is None or not read.replicas.number:
            message = "a share of the fleet has to be said"
            reading.error((*path, "replicas"), message, "write replicas: 10%")
        elif read.replicas.is_percentage and read.replicas.number > 100:
            message = f"{read.replicas} of the fleet is more than there is"
            reading.error((*path, "replicas"), message, "write at most 100%")
        if read.at_most is not None and not read.at_most.number:
            reading.error((*path, "atMost"), "no cluster would get any", "write at least 1")
    elif read.at_most is not None:
        reading.error((*path, "atMost"), "atMost has no effect", "write of: fleet")


def _approval(
    reading: readings.Reading, read: waiting_stages.ApprovalOptions, path: yaml.Path
) -> waiting_stages.ApprovalOptions | None:
    names = tuple(dict.fromkeys(read.approvers))
    if read.count > len(names):
        message = f"{read.count} people have to approve, but {len(names)} may"
        reading.error((*path, "minApproverNum"), message, "name more approvers")
        return None
    return waiting_stages.ApprovalOptions(names, read.count)
