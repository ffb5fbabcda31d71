"""Turns the entries of ``pipeline.stages`` into stages, with the checks of each on its own.

A stage that Volary does not know is an error in both dialects: passing over it in silence
would be dangerous.
"""

import itertools
from dataclasses import replace
from datetime import timedelta
from typing import cast

from volary.config import (
    analysis,
    fleet_shares,
    metrics,
    options,
    progression,
    progressive,
    scripts,
    sections,
    shape,
    traffic,
    trigger,
    webhooks,
    yaml,
)
from volary.model import application, stage, webhook

#: Stages that nothing is measured beside, with what to do instead.
_JUDGING = {
    stage.StageName.ANALYSIS: "write the metrics under with",
    stage.StageName.PROGRESSIVE_TRAFFIC: "write the metrics under with",
    stage.StageName.BLUE_GREEN: "write prePromotion or postPromotion under with",
    stage.StageName.WAIT_APPROVAL: "while people are asked no cluster is worked on: put an"
    " ANALYSIS before it, or use K8S_WEBHOOK_GATE",
}

#: Stages after which no version runs that did not run before.
_BEFORE = (
    stage.StageName.WEBHOOK_GATE,
    stage.StageName.WAIT,
    stage.StageName.WAIT_APPROVAL,
    stage.StageName.SCRIPT_RUN,
)
_NAMES = tuple(name.value for name in options.BY_NAME)


def convert(
    reading: shape.Reading,
    entries: list[sections.StageEntry],
    method: application.RoutingMethod,
    path: yaml.Path,
) -> tuple[stage.Stage, ...]:
    """Return the stages that could be read; problems of the others are noted."""
    found = (convert_one(reading, entry, method, (*path, i)) for i, entry in enumerate(entries))
    return _opened(tuple(each for each in found if each is not None))


def _opened(stages: tuple[stage.Stage, ...]) -> tuple[stage.Stage, ...]:
    """Let the gates before anything runs ask what Flagger calls ``confirm-rollout``."""
    before = tuple(itertools.takewhile(lambda each: each.name in _BEFORE, stages))
    return (*map(_opening, before), *stages[len(before) :])


def _opening(each: stage.Stage) -> stage.Stage:
    if not isinstance(each.options, stage.WebhookGateOptions):
        return each
    asked = replace(each.options.webhook, type=webhook.WebhookType.CONFIRM_ROLLOUT)
    return replace(each, options=replace(each.options, webhook=asked))


def convert_one(
    reading: shape.Reading,
    entry: sections.StageEntry,
    method: application.RoutingMethod,
    path: yaml.Path,
) -> stage.Stage | None:
    """Return the stage at `path`, which ends with its index; None when it has an error."""
    name = _name(reading, entry.name, (*path, "name"))
    if name is None:
        return None
    at = (*path, "with")
    read = reading.read(options.BY_NAME[name], entry.with_, at)
    check_duration(reading, entry.timeout, (*path, "timeout"))
    if read is None:
        return None
    converted = _options(reading, name, read, method, at)
    if converted is None:
        return None
    progression.check_time(reading, converted, entry.timeout, path)
    return stage.Stage(
        name=name,
        options=converted,
        index=cast("int", path[-1]),
        description=entry.desc,
        timeout=entry.timeout,
        targets=tuple(getattr(read, "multi_targets", ())),
        skip_on=_skip_on(reading, entry.skip_on, (*path, "skipOn")),
        beside=_beside(reading, name, entry, path),
    )


def _beside(
    reading: shape.Reading, name: stage.StageName, entry: sections.StageEntry, path: yaml.Path
) -> stage.AnalysisOptions | None:
    """Return what is measured while the stage is carried out; None: nothing."""
    at = (*path, "analysis")
    if entry.analysis is None:
        return None
    if name in _JUDGING:
        reading.error(at, f"nothing is measured beside {name.value} this way", _JUDGING[name])
        return None
    read = reading.read(metrics.Beside, entry.analysis, at)
    return None if read is None else analysis.beside(reading, read, at)


def _skip_on(reading: shape.Reading, read: sections.SkipOn, path: yaml.Path) -> stage.SkipOn:
    trigger.check_patterns(reading, read.paths, (*path, "paths"))
    return stage.SkipOn(tuple(read.commit_message_prefixes), tuple(read.paths))


def _name(reading: shape.Reading, name: str, path: yaml.Path) -> stage.StageName | None:
    canonical = options.canonical(name)
    if canonical == stage.StageName.ROLLBACK:
        hint = "remove it; planner.autoRollback decides whether failed runs are rolled back"
        reading.error(path, f"{name} must not be listed: Volary adds it when it is needed", hint)
    elif canonical not in _NAMES:
        reading.error(path, f"unknown stage {name}", shape.did_you_mean(canonical, _NAMES))
    else:
        return stage.StageName(canonical)
    return None


def check_duration(reading: shape.Reading, read: timedelta, path: yaml.Path) -> None:
    """Note a duration of nothing, and numbers, which are nanoseconds in PipeCD."""
    written = reading.written(path)
    if isinstance(written, int | float) and 0 < written < 1_000_000_000:
        message = f"{written} means {written} nanoseconds"
        reading.lenient(path, message, f"write a unit: {written}s")
    elif read <= timedelta(0):
        reading.error(path, "must be more than 0")


def _options(
    reading: shape.Reading,
    name: stage.StageName,
    read: sections.Section,
    method: application.RoutingMethod,
    path: yaml.Path,
) -> stage.StageOptions | None:
    match read:
        case options.Traffic():
            return traffic.convert(reading, read, method, path)
        case options.PrimaryRollout():
            return stage.PrimaryRolloutOptions(
                suffix=read.suffix,
                create_service=read.create_service,
                add_variant_label_to_selector=read.add_variant_label_to_selector,
                prune=read.prune,
            )
        case options.Sync():
            return stage.SyncOptions(read.add_variant_label_to_selector, read.prune)
        case options.BaselineRollout():
            return _variant(reading, read, path)
        case options.Wait() | options.WaitApproval():
            return _waiting(reading, read, path)
        case _:
            return _others(reading, name, read, method, path)


def _others(
    reading: shape.Reading,
    name: stage.StageName,
    read: sections.Section,
    method: application.RoutingMethod,
    path: yaml.Path,
) -> stage.StageOptions | None:
    match read:
        case options.Clean():
            return stage.CleanOptions()
        case progressive.ProgressiveTraffic():
            return progression.convert(reading, read, method, path)
        case progressive.BlueGreen():
            return progression.convert_blue_green(reading, read, path)
        case webhooks.WebhookGate():
            return webhooks.convert_gate(reading, read, path)
        case scripts.Script():
            return scripts.convert(reading, read, path)
        case metrics.Analysis():
            return analysis.convert(reading, read, path)
    raise AssertionError(f"no options for {name}")


def _variant(
    reading: shape.Reading, read: options.BaselineRollout, path: yaml.Path
) -> stage.VariantRolloutOptions:
    _check_replicas(reading, read.replicas, (*path, "replicas"))
    replicas = read.replicas if read.replicas and read.replicas.number else None
    fleet_shares.check_rollout(reading, read, path)
    return stage.VariantRolloutOptions(
        replicas=replicas,
        suffix=read.suffix,
        create_service=read.create_service,
        patches=_patches(read.patches) if isinstance(read, options.CanaryRollout) else (),
        of=read.of,
        at_most=read.at_most,
    )


def _check_replicas(
    reading: shape.Reading, replicas: stage.Replicas | None, path: yaml.Path
) -> None:
    written = reading.written(path)
    if isinstance(written, float):
        then = f"{int(written)} is used"
        reading.lenient(path, f"{written} is not a whole number", then=then)
    elif written is not None and (replicas is None or not replicas.number):
        reading.lenient(path, "zero pods are not possible", then="PipeCD's default of 1 is used")
    elif replicas and replicas.is_percentage and replicas.number > 100:
        reading.warn(path, f"{replicas} is more pods than primary has")


def _patches(read: list[options.Patch]) -> tuple[stage.Patch, ...]:
    return tuple(
        stage.Patch(
            kind=each.target.kind,
            name=each.target.name,
            operations=tuple(stage.PatchOperation(op.path, op.value) for op in each.ops),
            document_root=each.target.document_root,
        )
        for each in read
    )


def _waiting(
    reading: shape.Reading, read: options.Wait | options.WaitApproval, path: yaml.Path
) -> stage.StageOptions | None:
    if isinstance(read, options.Wait):
        check_duration(reading, read.duration, (*path, "duration"))
        return stage.WaitOptions(read.duration)
    names = tuple(dict.fromkeys(read.approvers))
    if read.min_approver_num > len(names):
        message = f"{read.min_approver_num} people have to approve, but {len(names)} may"
        reading.error((*path, "minApproverNum"), message, "name more approvers")
        return None
    return stage.ApprovalOptions(names, read.min_approver_num)
