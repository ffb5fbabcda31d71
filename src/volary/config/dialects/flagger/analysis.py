"""How a new version is tried: Flagger's ``spec.analysis`` as the stages that do the same."""

from collections.abc import Container
from datetime import timedelta
from typing import Any

from volary.config.decoding import values
from volary.config.dialects.flagger import metrics, schema, source
from volary.config.stages import query_placeholders, stage_sections
from volary.config.text import yaml
from volary.model.pipeline import webhook
from volary.model.pipeline.stage_kinds import external_stages, rollout_stages, traffic_stages

_LEAST_INTERVAL = timedelta(seconds=10)
_DEFAULT_INTERVAL = timedelta(seconds=60)
#: Flagger waits for ever for whoever says that a release may begin.
_GATE_TIMEOUT = timedelta(hours=24)
_SHORTEST_TIMEOUT = timedelta(hours=6)
_DEFAULT_ITERATIONS = 10
_ALL = 100
#: Called elsewhere, or by a stage of their own.
_GATES = (webhook.WebhookType.CONFIRM_ROLLOUT,)
_SELECTOR = "podselector"
#: NGINX sends whoever has the cookie with this value to canary.
_NGINX_COOKIE = "always"


def translate(read: source.Source, method: str) -> timedelta:
    """Write the pipeline for a routing method; return how long it may take."""
    written = read.analysis_path
    pipeline = source.Steps(read)
    if read.spec.analysis and read.spec.canary_analysis:
        message = "has no effect beside analysis, in Flagger neither"
        read.reading.warn(("spec", "canaryAnalysis"), message, "remove it")
    gates = _gates(read, pipeline)
    spec = read.spec
    deadline = f"{spec.progress_deadline_seconds}s" if spec.progress_deadline_seconds else ""
    at = ("spec", "progressDeadlineSeconds") if deadline else ("spec", "targetRef")
    rollout = pipeline.begin(rollout_stages.CANARY_ROLLOUT.name, at, timeout=deadline)
    if not read.is_service:
        _size(read, rollout)
        rollout.set("createService", True, ("spec", "service"))
    length = timedelta(0)
    analysis = read.analysis
    if spec.skip_analysis or analysis is None:
        _without_analysis(read)
    else:
        length = _progression(read, analysis, pipeline, method)
        deadline = _promotion_deadline(read, analysis) if deadline else ""
    pipeline.begin(rollout_stages.PRIMARY_ROLLOUT.name, written, timeout=deadline)
    pipeline.begin(rollout_stages.CANARY_CLEAN.name, written)
    return length + gates * _GATE_TIMEOUT


def _gates(read: source.Source, pipeline: source.Steps) -> int:
    """Append a gate for each webhook that confirms a rollout; return how many there are."""
    if read.analysis is None:
        return 0
    for i, webhook_entry in enumerate(read.analysis.webhooks):
        if webhook_entry.type not in _GATES:
            continue
        at = (*read.analysis_path, "webhooks", i)
        name = external_stages.WEBHOOK_GATE.name
        limit = query_placeholders.interval_text(_GATE_TIMEOUT)
        gate = pipeline.begin(name, at, description=webhook_entry.name, timeout=limit)
        read.reading.warn(
            at,
            f"{webhook_entry.name} is asked for {limit} at most; Flagger asks for ever",
            "convert the file to choose another timeout",
        )
        if webhook_entry.mute_alert:
            message = "has no effect: a gate says once what it waits for"
            read.reading.warn((*at, "muteAlert"), message, "remove it")
        for option, value in _call(webhook_entry).items():
            if option not in ("type", "muteAlert"):
                gate.set(option, value, at)
    return pipeline.count


def _size(read: source.Source, rollout: source.Step) -> None:
    """Flagger's canary has as many pods as the target; with a scaler, as its weight needs."""
    scaler = read.spec.autoscaler_ref
    if scaler is None:
        rollout.set("replicas", "100%", ("spec", "targetRef"))
        return
    rollout.set("replicas", f"{_first_weight(read)}%", ("spec", "autoscalerRef"))


def _first_weight(read: source.Source) -> int:
    analysis = read.analysis
    if analysis is None or read.spec.skip_analysis or analysis.iterations > 0:
        return _ALL
    return (analysis.step_weights or [analysis.step_weight])[0] or _ALL


def _without_analysis(read: source.Source) -> None:
    if read.analysis is None:
        if not read.spec.skip_analysis:
            read.reading.error(("spec", "analysis"), "is required")
        return
    for i, webhook_entry in enumerate(read.analysis.webhooks):
        if webhook_entry.type not in _GATES:
            message = f"{webhook_entry.name} is not called: skipAnalysis is set"
            read.reading.warn((*read.analysis_path, "webhooks", i), message)


def _progression(
    read: source.Source, analysis: schema.Analysis, pipeline: source.Steps, method: str
) -> timedelta:
    at = read.analysis_path
    interval = _interval(read, analysis)
    length = _length(read, analysis, interval)
    limit = max(_SHORTEST_TIMEOUT, 2 * length + timedelta(hours=1))
    step = pipeline.begin(
        traffic_stages.PROGRESSIVE_TRAFFIC.name, at, timeout=query_placeholders.interval_text(limit)
    )
    step.set("interval", query_placeholders.interval_text(interval), (*at, "interval"))
    step.set("threshold", max(1, analysis.threshold), (*at, "threshold"))
    _strategy(read, analysis, step, method)
    here = (*at, "stepWeightPromotion")
    if analysis.step_weight_promotion and method == _SELECTOR:
        message = "has no effect without a router that divides traffic, in Flagger neither"
        read.reading.warn(here, message, "remove it")
    elif analysis.step_weight_promotion:
        step.set("stepWeightPromotion", analysis.step_weight_promotion, here)
    if analysis.mirror:
        step.set("mirror", True, (*at, "mirror"))
        if analysis.mirror_weight:
            step.set("mirrorWeight", analysis.mirror_weight, (*at, "mirrorWeight"))
    elif analysis.mirror_weight:
        read.reading.warn((*at, "mirrorWeight"), "has no effect without mirror: true")
    _thresholds(read, analysis, step)
    if analysis.session_affinity is not None:
        written: Any = read.reading.written((*at, "sessionAffinity"))
        cookie = {name: value for name, value in written.items() if value is not None}
        step.set("sessionAffinity", cookie, (*at, "sessionAffinity"))
    if read.spec.autoscaler_ref is not None and not read.is_service:
        step.set("scaleCanary", True, ("spec", "autoscalerRef"))
    metrics.translate(read, step)
    _webhooks(read, step, _GATES)
    return limit


def _interval(read: source.Source, analysis: schema.Analysis) -> timedelta:
    at = (*read.analysis_path, "interval")
    interval = _duration(read, analysis.interval, at) or _DEFAULT_INTERVAL
    if interval < _LEAST_INTERVAL:
        message = f"{analysis.interval} is read as 10s, Flagger's shortest interval"
        read.reading.warn(at, message, "write 10s")
    return max(interval, _LEAST_INTERVAL)


def _strategy(
    read: source.Source, analysis: schema.Analysis, step: source.Step, method: str
) -> None:
    """Write by what canary's share grows: weights, or iterations with or without a match."""
    at = read.analysis_path
    iterations = analysis.iterations
    can_divide = method != _SELECTOR
    ways = [
        name
        for name in ("iterations", "stepWeights", "stepWeight")
        if read.reading.written((*at, name))
    ]
    if len(ways) > 1:
        message = f"{ways[0]} and {ways[1]} exclude each other, in Flagger too"
        read.reading.error((*at, ways[1]), message, "keep one of them")
    if not can_divide and iterations < 1:
        message = "without a router that divides traffic, Flagger makes 10 iterations of this"
        read.reading.warn(at, message, "write iterations: 10 in place of the weights")
        iterations = _DEFAULT_ITERATIONS
    elif not can_divide and analysis.match:
        message = "has no effect without a router that can match requests, in Flagger neither"
        read.reading.warn((*at, "match"), message, "remove it")
    if iterations > 0:
        step.set("iterations", iterations, (*at, "iterations"))
        if analysis.match and can_divide:
            step.set("match", _matches(read, method), (*at, "match"))
        if analysis.iterations > 0 and analysis.max_weight:
            read.reading.warn((*at, "maxWeight"), "has no effect beside iterations")
        return
    if analysis.match:
        message = (
            "with weights, Flagger divides the requests that match and sends all others to primary:"
            " that is not carried out"
        )
        hint = (
            "write iterations in place of the weights, and all that match get canary; or remove"
            " match, and the weights are of all requests"
        )
        read.reading.error((*at, "match"), message, hint)
    if analysis.step_weights:
        step.set("stepWeights", list(analysis.step_weights), (*at, "stepWeights"))
        if analysis.max_weight:
            read.reading.warn((*at, "maxWeight"), "has no effect beside stepWeights")
        return
    _weights(read, analysis, step)


def _weights(read: source.Source, analysis: schema.Analysis, step: source.Step) -> None:
    at = read.analysis_path
    step.set("stepWeight", analysis.step_weight, (*at, "stepWeight"))
    last = analysis.max_weight or _ALL
    if analysis.max_weight:
        step.set("maxWeight", last, (*at, "maxWeight"))
    if analysis.step_weight and last % analysis.step_weight:
        reached = min(_ALL, last + analysis.step_weight - last % analysis.step_weight)
        if reached > last:
            step.set("overshoot", True, (*at, "maxWeight"))
            message = f"steps of {analysis.step_weight} lead to {reached}%, as in Flagger"
            hint = f"write maxWeight: {reached}, or {last - last % analysis.step_weight}"
            read.reading.warn((*at, "maxWeight"), message, hint)


def _thresholds(read: source.Source, analysis: schema.Analysis, step: source.Step) -> None:
    at = read.analysis_path
    deadline = read.spec.progress_deadline_seconds
    if deadline:
        step.set("progressDeadlineSeconds", deadline, ("spec", "progressDeadlineSeconds"))
    ready = analysis.canary_ready_threshold
    if ready is not None and ready != _ALL:
        step.set("canaryReadyThreshold", ready, (*at, "canaryReadyThreshold"))
    if analysis.primary_ready_threshold not in (None, _ALL):
        read.reading.warn(
            (*at, "primaryReadyThreshold"),
            "has no effect: primary is promoted once all of its pods are ready",
        )


def _length(read: source.Source, analysis: schema.Analysis, interval: timedelta) -> timedelta:
    """Return how long the checks take when none of them is repeated for a refused gate."""
    if analysis.iterations > 0:
        looks = analysis.iterations
    elif analysis.step_weights:
        looks = len(analysis.step_weights)
    else:
        looks = (analysis.max_weight or _ALL) // max(1, analysis.step_weight) + 1
    deadline = timedelta(seconds=read.spec.progress_deadline_seconds or 600)
    return interval * (looks + max(1, analysis.threshold) + 2) + deadline


def _promotion_deadline(read: source.Source, analysis: schema.Analysis) -> str:
    back = -(-_ALL // analysis.step_weight_promotion) if analysis.step_weight_promotion else 0
    deadline = timedelta(seconds=read.spec.progress_deadline_seconds or 600)
    return query_placeholders.interval_text(deadline + _interval(read, analysis) * back)


def _duration(read: source.Source, text: str, written: yaml.Path) -> timedelta | None:
    """Return the duration at `written`; None when it is empty or none, which is noted."""
    if not text:
        return None
    try:
        length = values.duration(text)
    except ValueError as error:
        read.reading.error(written, str(error))
        return None
    if length <= timedelta(0):
        read.reading.error(written, "must be more than 0")
        return None
    return length


def _webhooks(
    read: source.Source, step: source.Step, elsewhere: Container[webhook.WebhookType]
) -> None:
    """Write the webhooks that the stage asks; those `elsewhere` have stages of their own."""
    assert read.analysis is not None
    seen: set[str] = set()
    count = 0
    for i, webhook_entry in enumerate(read.analysis.webhooks):
        if webhook_entry.type in elsewhere:
            continue
        called = _call(webhook_entry)
        while called["name"] in seen:
            called["name"] += "-2"
        seen.add(called["name"])
        at = (*read.analysis_path, "webhooks", i)
        for name, value in called.items():
            read.put((*step.path, "with", "webhooks", count, name), value, (*at, name))
        read.draft.came_from((*step.path, "with", "webhooks", count), read.reading.where(at))
        count += 1


def _call(webhook_entry: schema.Webhook) -> dict[str, Any]:
    """Return a webhook as our own dialect writes it, without defaults."""
    written = webhook_entry.model_dump(mode="json", by_alias=True)
    return {name: value for name, value in written.items() if value}


def _matches(read: source.Source, method: str) -> list[dict[str, Any]]:
    """Return the requests of an A/B test as our own dialect writes them."""
    assert read.analysis is not None
    requests = []
    for i, match in enumerate(read.analysis.match):
        if match.source_labels:
            read.reading.error(
                (*read.analysis_path, "match", i, "sourceLabels"),
                "choosing requests by the pods that send them is not carried out",
                "choose them by a header that those pods send",
            )
        written: dict[str, Any] = {}
        headers = {name: _text_match(text) for name, text in match.headers.items()}
        if method == "nginx" and "cookie" in headers:
            cookie = str(headers.pop("cookie").get("exact", ""))
            written["cookies"] = {cookie: {"exact": _NGINX_COOKIE}}
        if headers:
            written["headers"] = headers
        if match.query_params:
            parameters = {name: _text_match(text) for name, text in match.query_params.items()}
            written["queryParams"] = parameters
        requests.append(written)
    return requests


def _text_match(text: stage_sections.TextMatch) -> dict[str, str]:
    return {key: str(value) for key, value in text.model_dump(exclude_none=True).items()}
