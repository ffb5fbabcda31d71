"""Reads the options of progressive traffic and blue/green, and refuses plans that never end."""

import itertools
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

from volary.config.decoding import base_sections, readings
from volary.config.stages import (
    analysis_rules,
    look_limits,
    metric_sections,
    query_placeholders,
    stage_sections,
    webhooks,
)
from volary.config.text import yaml
from volary.model import analysis as models
from volary.model import errors, routing_options
from volary.model.pipeline import traffic, webhook
from volary.model.pipeline.stage_kinds import stage_kind, traffic_stages

_ALL = 100
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_ATTRIBUTE = re.compile(r"[^;\x00-\x1f\x7f]*")
#: What a match looks at, by its option.
_NAMED = {"headers": "header", "cookies": "cookie", "queryParams": "parameter of the query"}
_POD_SELECTOR = routing_options.RoutingMethod.POD_SELECTOR
_CHECKING = frozenset({webhook.WebhookType.PRE_ROLLOUT, webhook.WebhookType.ROLLOUT})
_SWITCHING = frozenset(
    {
        webhook.WebhookType.CONFIRM_ROLLOUT,
        webhook.WebhookType.CONFIRM_PROMOTION,
        webhook.WebhookType.ROLLBACK,
        webhook.WebhookType.POST_ROLLOUT,
        webhook.WebhookType.EVENT,
    }
)


def convert(
    reading: readings.Reading,
    read: stage_sections.ProgressiveTraffic,
    method: routing_options.RoutingMethod,
    path: yaml.Path,
) -> traffic_stages.ProgressiveTrafficOptions | None:
    """Return the options; None when they cannot be used, which is noted then."""
    before = len(reading.problems)
    options = base_sections.value_of(
        traffic_stages.ProgressiveTrafficOptions,
        read,
        metrics=(),
        match=matches(reading, read.match, (*path, "match")),
        progress_deadline=timedelta(seconds=read.progress_deadline_seconds),
    )
    at = (*path, "interval")
    analysis_rules.check_unit(reading, options.interval, at, least=analysis_rules.SHORTEST)
    options = replace(
        options, metrics=_metrics(reading, read.metrics, options.interval, (*path, "metrics"))
    )
    check_affinity(reading, options.session_affinity, (*path, "sessionAffinity"))
    webhooks.check(reading, options.webhooks, (*path, "webhooks"))
    for name, message in problems(options):
        reading.error((*path, name) if name else path, message)
    for name, message in idle(options):
        if reading.written((*path, name)) is not None:
            reading.lenient((*path, name), f"{name} has no effect: {message}")
    if method is _POD_SELECTOR:
        _check_selector(reading, options, path)
    if not options.metrics and not any(webhook.type in _CHECKING for webhook in options.webhooks):
        message = "nothing is measured: traffic moves as long as canary's pods are ready"
        reading.warn(path, message, "add metrics, or webhooks of type rollout")
    return None if errors.mistakes(reading.problems[before:]) else options


def convert_blue_green(
    reading: readings.Reading, read: stage_sections.BlueGreen, path: yaml.Path
) -> traffic_stages.BlueGreenOptions:
    """Return the options; what is wrong with them is noted."""
    options = base_sections.value_of(
        traffic_stages.BlueGreenOptions,
        read,
        pre_promotion=_checks(reading, read.pre_promotion, (*path, "prePromotion")),
        post_promotion=_checks(reading, read.post_promotion, (*path, "postPromotion")),
    )
    webhooks.check(reading, options.webhooks, (*path, "webhooks"), allowed=_SWITCHING)
    if options.preview_service and not options.preview:
        reading.lenient((*path, "previewService"), "previewService has no effect: preview is false")
    if options.scale_down_delay > timedelta(hours=24):
        reading.error((*path, "scaleDownDelay"), "must be at most 24h")
    return options


def _checks(
    reading: readings.Reading, read: stage_sections.Checks | None, path: yaml.Path
) -> traffic_stages.Checks | None:
    if read is None:
        return None
    checks = base_sections.value_of(traffic_stages.Checks, read, metrics=())
    at = (*path, "interval")
    analysis_rules.check_unit(reading, checks.interval, at, least=analysis_rules.SHORTEST)
    if checks.threshold > checks.count:
        message = (
            f"{checks.count} checks cannot fail {checks.threshold} times: the analysis always"
            " passes"
        )
        reading.error((*path, "threshold"), message)
    webhooks.check(reading, checks.webhooks, (*path, "webhooks"), allowed=_CHECKING)
    if not checks.webhooks and not read.metrics:
        reading.error(path, "nothing is checked", "add metrics or webhooks")
    measured = _metrics(reading, read.metrics, checks.interval, (*path, "metrics"))
    return replace(checks, metrics=measured)


def _metrics(
    reading: readings.Reading,
    read: list[metric_sections.Metric],
    interval: timedelta,
    at: yaml.Path,
) -> tuple[models.Rule, ...]:
    """Return what is measured with each check; what is wrong with it is noted."""
    for i in range(len(read)):
        for name in ("failureLimit", "failureCount", *look_limits.OF_METRIC):
            if reading.written((*at, i, name)) is not None:
                message = f"{name} has no effect: each bad look is a failed check"
                reading.lenient((*at, i, name), message, "set the stage's threshold")
    return analysis_rules.rules(reading, read, at, interval=interval)


def least_time(options: stage_kind.StageOptions) -> timedelta:
    """Return how long a stage takes at least when every check passes."""
    match options:
        case traffic_stages.ProgressiveTrafficOptions():
            return options.interval * (_rounds(options) - 1)
        case traffic_stages.BlueGreenOptions():
            both = (options.pre_promotion, options.post_promotion)
            checks = (
                analysis.interval * (analysis.count - (0 if analysis.metrics else 1))
                for analysis in both
                if analysis is not None
            )
            return sum(checks, options.scale_down_delay)
    return timedelta(0)


def _rounds(options: traffic_stages.ProgressiveTrafficOptions) -> int:
    """Return the number of rounds; the first one is at once."""
    if options.iterations:
        return options.iterations + (1 if options.match else 2)
    shadow = 1 if options.mirror else 0
    if options.step_weights:
        return len(options.step_weights) + 1 + shadow
    return -(-options.max_weight // max(1, options.step_weight)) + 1 + shadow


def check_time(
    reading: readings.Reading, options: stage_kind.StageOptions, timeout: timedelta, path: yaml.Path
) -> None:
    """Note a stage that cannot end before its timeout."""
    least = least_time(options)
    if timedelta(0) < timeout < least:
        needs, has = (
            query_placeholders.interval_text(least),
            query_placeholders.interval_text(timeout),
        )
        message = f"the stage takes at least {needs}, and its timeout is {has}"
        reading.error((*path, "timeout"), message, "raise the timeout, or take larger steps")


def matches(
    reading: readings.Reading, read: list[stage_sections.RequestMatch], path: yaml.Path
) -> tuple[traffic.RequestMatch, ...]:
    """Return the matches at `path`; what is wrong with them is noted."""
    request_matches = []
    for i, entry in enumerate(read):
        here = (*path, i)
        if not (entry.headers or entry.cookies or entry.query_params):
            reading.error(here, "matches every request", "add headers, cookies or queryParams")
        request_matches.append(
            traffic.RequestMatch(
                _texts(reading, entry.headers, (*here, "headers")),
                _texts(reading, entry.cookies, (*here, "cookies")),
                _texts(reading, entry.query_params, (*here, "queryParams")),
            )
        )
    return tuple(request_matches)


def _texts(
    reading: readings.Reading, read: dict[str, stage_sections.TextMatch], path: yaml.Path
) -> dict[str, traffic.TextMatch]:
    texts = {}
    for name, text_match in read.items():
        if not (name if path[-1] == "queryParams" else _TOKEN.fullmatch(name)):
            reading.error(path, f"{name[:80]!r} is not a name of a {_NAMED[str(path[-1])]}")
        given = {
            kind: value
            for kind in traffic.MatchKind
            if (value := getattr(text_match, kind.value)) is not None
        }
        if len(given) != 1:
            reading.error((*path, name), "needs exactly one of exact, prefix, suffix and regex")
            continue
        ((kind, value),) = given.items()
        texts[name] = traffic.TextMatch(value, kind)
    return texts


def check_affinity(
    reading: readings.Reading, read: traffic.SessionAffinity | None, path: yaml.Path
) -> None:
    """Note what is wrong with the cookies at `path`."""
    if read is None:
        return
    if read.cookie_name == read.primary_cookie_name:
        reading.error((*path, "primaryCookieName"), "must differ from cookieName")
    for name, text in (
        ("cookieName", read.cookie_name),
        ("primaryCookieName", read.primary_cookie_name),
    ):
        if text and not _TOKEN.fullmatch(text):
            reading.error((*path, name), f"{text[:80]!r} is not a name of a cookie")
    for name, text in (("domain", read.domain), ("path", read.path)):
        if not _ATTRIBUTE.fullmatch(text):
            reading.error((*path, name), "must not contain semicolons or control characters")
    if read.same_site is traffic.SameSite.NONE and not read.secure:
        reading.warn((*path, "sameSite"), "browsers drop SameSite=None cookies without secure")


def _check_selector(
    reading: readings.Reading, options: traffic_stages.ProgressiveTrafficOptions, path: yaml.Path
) -> None:
    """Note what a Service's selector cannot do: it moves everything or nothing."""
    hint = "use a trafficRouting.method that divides traffic, or iterations alone"
    name = "stepWeight" if options.step_weight else "stepWeights"
    if not options.iterations:
        reading.error((*path, name), "podselector cannot divide traffic by weights", hint)
    for option, is_set in (
        ("match", bool(options.match)),
        ("mirror", options.mirror),
        ("sessionAffinity", options.session_affinity is not None),
    ):
        if is_set:
            reading.error((*path, option), f"podselector cannot do {option}", hint)


def problems(options: traffic_stages.ProgressiveTrafficOptions) -> Iterator[tuple[str, str]]:
    """Yield why a plan can never end or contradicts itself, by option; nothing when it is good."""
    ways = [
        name
        for name, is_set in (
            ("stepWeight", options.step_weight > 0),
            ("stepWeights", bool(options.step_weights)),
            ("iterations", options.iterations > 0),
        )
        if is_set
    ]
    if not ways:
        yield "", "one of stepWeight, stepWeights and iterations is needed"
    elif len(ways) > 1:
        yield ways[-1], f"{' and '.join(ways)} exclude each other"
    yield from _weight_problems(options)
    if options.match and not options.iterations:
        yield "match", "an A/B test counts iterations, not weights: set iterations"
    if options.match and options.mirror:
        yield "mirror", "an A/B test cannot mirror requests"


def idle(options: traffic_stages.ProgressiveTrafficOptions) -> Iterator[tuple[str, str]]:
    """Yield options that mean nothing beside the others, each with the reason."""
    if not options.mirror:
        yield "mirrorWeight", "mirror is false"
    if options.step_weights:
        yield "maxWeight", "the last of stepWeights is the maximum"
    if options.iterations:
        yield "maxWeight", "iterations have no weights"
        yield "overshoot", "iterations have no weights"


def _weight_problems(
    options: traffic_stages.ProgressiveTrafficOptions,
) -> Iterator[tuple[str, str]]:
    if options.step_weights:
        if any(later <= earlier for earlier, later in itertools.pairwise(options.step_weights)):
            yield "stepWeights", "must rise from weight to weight, or the end is not met"
        if not all(0 < step_weight <= _ALL for step_weight in options.step_weights):
            yield "stepWeights", "must be from 1 to 100"
    if not 0 < options.max_weight <= _ALL:
        yield "maxWeight", "must be from 1 to 100, or it is never reached"
    if options.step_weight > _ALL:
        yield "stepWeight", "must be from 1 to 100"
    if options.overshoot and options.step_weights:
        yield "overshoot", "stepWeights are met exactly; overshoot needs stepWeight"
