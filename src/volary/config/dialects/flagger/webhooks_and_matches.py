"""Webhooks, matches and durations of an analysis, in the words of our own dialect."""

from collections.abc import Container
from datetime import timedelta
from typing import Any

from volary.config.decoding import values
from volary.config.dialects.flagger import schema, source
from volary.config.text import yaml
from volary.model.pipeline import webhook

#: NGINX sends whoever has the cookie with this value to canary.
_NGINX_COOKIE = "always"


def duration(read: source.Source, text: str, written: yaml.Path) -> timedelta | None:
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


def webhooks(
    read: source.Source, step: source.Step, elsewhere: Container[webhook.WebhookType]
) -> None:
    """Write the webhooks that the stage asks; those `elsewhere` have stages of their own."""
    assert read.analysis is not None
    seen: set[str] = set()
    count = 0
    for i, webhook_entry in enumerate(read.analysis.webhooks):
        if webhook_entry.type in elsewhere:
            continue
        called = call(webhook_entry)
        while called["name"] in seen:
            called["name"] += "-2"
        seen.add(called["name"])
        at = (*read.analysis_path, "webhooks", i)
        for name, value in called.items():
            read.put((*step.path, "with", "webhooks", count, name), value, (*at, name))
        read.draft.came_from((*step.path, "with", "webhooks", count), read.reading.where(at))
        count += 1


def call(webhook_entry: schema.Webhook) -> dict[str, Any]:
    """Return a webhook as our own dialect writes it, without defaults."""
    written = webhook_entry.model_dump(mode="json", by_alias=True)
    return {name: value for name, value in written.items() if value}


def matches(read: source.Source) -> list[dict[str, Any]]:
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
        headers = {name: _text(text) for name, text in match.headers.items()}
        if read.spec.provider == "nginx" and "cookie" in headers:
            cookie = str(headers.pop("cookie").get("exact", ""))
            written["cookies"] = {cookie: {"exact": _NGINX_COOKIE}}
        if headers:
            written["headers"] = headers
        if match.query_params:
            parameters = {name: _text(text) for name, text in match.query_params.items()}
            written["queryParams"] = parameters
        requests.append(written)
    return requests


def _text(text: schema.TextMatch) -> dict[str, str]:
    return {key: str(value) for key, value in text.model_dump(exclude_none=True).items()}
