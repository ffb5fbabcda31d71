"""Turns the entries of a pipeline into stages of the model."""

import itertools
from dataclasses import replace

from volary.config.decoding import readings
from volary.config.stages import stage_entries
from volary.config.text import yaml
from volary.model import routing_options
from volary.model.pipeline import pipelines, webhook
from volary.model.pipeline.stage_kinds import external_stages


def convert(
    reading: readings.Reading,
    entries: list[stage_entries.StageEntry],
    method: routing_options.RoutingMethod,
    path: yaml.Path,
) -> tuple[pipelines.Stage, ...]:
    """Return the stages that could be read; problems of the others are noted."""
    stages = (convert_one(reading, entry, method, (*path, i)) for i, entry in enumerate(entries))
    return _opened(tuple(stage for stage in stages if stage is not None))


def convert_one(
    reading: readings.Reading,
    entry: stage_entries.StageEntry,
    method: routing_options.RoutingMethod,
    path: yaml.Path,
) -> pipelines.Stage | None:
    """Return the stage at `path`, which ends with its index; None when it has an error."""
    from volary.config.stages import stage_readers  # all that judges too: once there is a stage

    return stage_readers.convert(reading, entry, method, path)


def _opened(stages: tuple[pipelines.Stage, ...]) -> tuple[pipelines.Stage, ...]:
    """Let the gates before anything runs ask what Flagger calls ``confirm-rollout``."""
    before = tuple(itertools.takewhile(lambda stage: not stage.kind.may_start_version, stages))
    return (*map(_opening, before), *stages[len(before) :])


def _opening(stage: pipelines.Stage) -> pipelines.Stage:
    if not isinstance(stage.options, external_stages.WebhookGateOptions):
        return stage
    asked = replace(stage.options.webhook, type=webhook.WebhookType.CONFIRM_ROLLOUT)
    return replace(stage, options=replace(stage.options, webhook=asked))
