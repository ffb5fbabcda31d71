"""Who is named in notifications about an application, and who is told, from its file."""

from collections.abc import Mapping
from dataclasses import replace

from volary.config.application import application_sections, cluster_strategies, drift_detection
from volary.config.decoding import base_sections, file_paths, readings
from volary.config.fleet import health_rules
from volary.config.placement import change_windows, override_rules, spread_and_failover, wave_rules
from volary.config.server import notification_routes
from volary.config.stages import pipelines as stage_pipelines
from volary.config.stages import stage_entries
from volary.config.text import yaml
from volary.model import applications, routing_options
from volary.model.objects import ownership
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages

_MENTIONS: yaml.Path = ("spec", "notification", "mentions")
_ALL_EVENTS = "*"
#: PipeCD's events that nothing here is an occasion for.
_NEVER_SENT = (
    "APPLICATION_HEALTHY",
    "PIPED_STARTED",
    "PIPED_STOPPED",
)


def assemble(
    reading: readings.Reading,
    name: str,
    labels: Mapping[str, str],
    spec: application_sections.Spec,
    kubernetes: application_sections.Kubernetes,
    targets: applications.TargetSelector,
) -> applications.Application:
    """Return the application; what its parts say is wrong is noted.

    Args:
        reading: Where problems are noted.
        name: Its name.
        labels: Its labels.
        spec: What both dialects have.
        kubernetes: The part about Kubernetes, wherever the dialect has it.
        targets: The clusters it is for.
    """
    stage_entries.check_duration(reading, spec.timeout, ("spec", "timeout"))
    router = kubernetes.traffic_routing
    quick_sync = base_sections.value_of(rollout_stages.SyncOptions, kubernetes.quick_sync)
    _check_triggers(reading, spec.trigger)
    chosen, stages = _stages(reading, spec, quick_sync, router.method)
    application = applications.Application(
        name=name,
        dialect=reading.dialect,
        labels=labels,
        description=spec.description,
        targets=targets,
        input=kubernetes.input,
        quick_sync=quick_sync,
        quick_sync_targets=tuple(kubernetes.quick_sync.multi_targets),
        workloads=tuple(kubernetes.workloads),
        service=base_sections.value_of(routing_options.ObjectReference, kubernetes.service),
        made_service=kubernetes.service.create,
        variant_label=kubernetes.variant_label,
        traffic_routing=router,
        pipeline=stages,
        strategies=chosen,
        planner=spec.planner,
        commit_matcher=spec.commit_matcher,
        triggers=spec.trigger,
        drift=drift_detection.convert(reading, spec),
        mentions=_mentions(reading, spec.notification),
        alerts=_routes(reading, spec.notification),
        encryption=spec.encryption,
        attachment=spec.attachment,
        timeout=spec.timeout,
        conflicts=ownership.Conflicts(kubernetes.conflicts, tuple(kubernetes.conflict_exceptions)),
    )
    # Only our own dialect has anything to say about where and when.
    if isinstance(spec, application_sections.VolarySpec):
        return _placed(reading, application, spec)
    return application


def _placed(
    reading: readings.Reading,
    application: applications.Application,
    spec: application_sections.VolarySpec,
) -> applications.Application:
    """Return the application with where and when it is deployed; problems are noted."""
    placed = spec.placement
    spread_and_failover.check_tolerations(reading, placed.tolerations)
    spread_and_failover.check_spread(reading, placed.spread)
    if placed.failover is not None:
        spread_and_failover.check_failover(reading, placed.failover)
    windows = change_windows.convert(reading, spec.windows)
    return replace(
        application,
        project=spec.project,
        waves=replace(wave_rules.convert(reading, spec), windows=windows),
        differences=override_rules.convert(reading, placed),
        spread=tuple(placed.spread),
        failover=placed.failover,
        health=health_rules.convert(reading, spec.health, ("spec", "health")),
        tolerations=tuple(placed.tolerations),
    )


def _check_triggers(reading: readings.Reading, read: applications.Triggers) -> None:
    path: yaml.Path = ("spec", "trigger")
    file_paths.check_patterns(reading, read.on_commit.paths, (*path, "onCommit", "paths"))
    file_paths.check_patterns(reading, read.on_commit.ignores, (*path, "onCommit", "ignores"))
    if not read.on_chain.disabled:
        at = (*path, "onChain", "disabled")
        message, hint = "deployment chains are not carried out yet", "write disabled: true"
        reading.lenient(at, message, hint, then="onChain is ignored")


def _stages(
    reading: readings.Reading,
    spec: application_sections.Spec,
    quick_sync: rollout_stages.SyncOptions,
    method: routing_options.RoutingMethod,
) -> tuple[tuple[applications.Strategy, ...], tuple[pipelines.Stage, ...]]:
    if isinstance(spec, application_sections.VolarySpec) and spec.strategies:
        return cluster_strategies.convert(reading, spec.strategies, quick_sync, method)
    return (), stage_pipelines.convert(
        reading, spec.pipeline.stages, method, cluster_strategies.STAGES
    )


def _mentions(
    reading: readings.Reading, read: application_sections.Notification
) -> tuple[applications.Mention, ...]:
    """Return the mentions (PipeCD: 2); problems are noted."""
    for index, entry in enumerate(read.mentions):
        _check_mention(reading, entry, (*_MENTIONS, index))
    return tuple(
        applications.Mention(
            mention.event, (*mention.slack, *mention.slack_users), tuple(mention.slack_groups)
        )
        for mention in read.mentions
    )


def _routes(
    reading: readings.Reading, read: application_sections.Notification
) -> tuple[applications.Alert, ...]:
    """Return the application's own routes; problems are noted. Only our own dialect has some."""
    if not isinstance(read, application_sections.OwnNotification):
        return ()
    for i, entry in enumerate(read.routes):
        for j, name in enumerate(entry.events):
            if name not in notification_routes.EVENTS:
                hint = readings.did_you_mean(name, notification_routes.EVENTS)
                here = ("spec", "notification", "routes", i, "events", j)
                reading.error(here, f"{name[:80]} is never sent", hint)
    return tuple(read.routes)


def _check_mention(
    reading: readings.Reading, read: application_sections.Mention, at: yaml.Path
) -> None:
    name = read.event
    if name in (_ALL_EVENTS, *notification_routes.EVENTS):
        return
    if name in _NEVER_SENT:
        reading.lenient((*at, "event"), f"{name} is never sent", then="it mentions no user")
        return
    hint = readings.did_you_mean(name, (*notification_routes.EVENTS, _ALL_EVENTS))
    reading.error((*at, "event"), f"{name[:80]} is no event of a notification", hint)
