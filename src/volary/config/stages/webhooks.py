"""Webhooks in application files: Flagger's fields, with the same names."""

import re
from collections.abc import Sequence
from datetime import timedelta
from urllib import parse

from pydantic import Field

from volary.config.decoding import base_sections, readings
from volary.config.text import yaml
from volary.model import options
from volary.model.pipeline import webhook
from volary.model.pipeline.stage_kinds import external_stages, stage_kind

_LONGEST = timedelta(minutes=5)
_CONTROL = re.compile(r"[\x00-\x20\x7f]")


class WebhookGate(base_sections.OnTargets):
    """Wait until a webhook agrees; the stage's timeout is how long it is asked."""

    url: base_sections.Text = Field(description="Address, `https://` or `http://`.")
    name: str = options.option("Name, for the log; empty: the address' host.", "")
    interval: timedelta = options.option(
        "Time between two questions, at least 1s.", timedelta(seconds=10)
    )
    timeout: timedelta = options.option(
        "How long an answer may take, at most 5m.", timedelta(seconds=10)
    )
    retries: int = options.option("As for other webhooks.", 0, least=0, most=10)
    disable_tls: bool = options.option(
        "Do not verify the server's certificate.", False, key="disableTLS"
    )
    metadata: dict[str, str] = options.option(
        "Sent along; `${CLUSTER}` stands for the cluster's name.", {}
    )
    scope: stage_kind.Scope = options.option(
        "`fleet`: asked once for all clusters; `cluster`: once for each of them.",
        stage_kind.Scope.FLEET,
    )


def check(
    reading: readings.Reading,
    read: Sequence[webhook.Webhook],
    path: yaml.Path,
    *,
    allowed: frozenset[webhook.WebhookType] = frozenset(webhook.WebhookType),
) -> None:
    """Note what is wrong with the webhooks at `path`."""
    seen: set[str] = set()
    for i, entry in enumerate(read):
        here = (*path, i)
        _check_call(reading, entry, here)
        if entry.name in seen:
            reading.lenient((*here, "name"), f"two webhooks are called {entry.name}")
        seen.add(entry.name)
        if entry.type not in allowed:
            known = ", ".join(sorted(allowed))
            reading.error((*here, "type"), f"{entry.type} is not asked here", f"possible: {known}")


def convert_gate(
    reading: readings.Reading, read: WebhookGate, path: yaml.Path
) -> external_stages.WebhookGateOptions:
    """Return the options of a gate; what is wrong with them is noted."""
    _check_call(reading, read, path)
    if read.interval < timedelta(seconds=1):
        reading.error((*path, "interval"), "must be at least 1s")
    asked = base_sections.value_of(
        webhook.Webhook,
        read,
        name=read.name or _host(read.url) or "gate",
        type=webhook.WebhookType.CONFIRM_PROMOTION,
    )
    return external_stages.WebhookGateOptions(asked, read.interval, read.scope)


def _check_call(
    reading: readings.Reading, read: webhook.Webhook | WebhookGate, path: yaml.Path
) -> None:
    problem = url_problem(read.url)
    if problem:
        reading.error((*path, "url"), problem)
    if not timedelta(0) < read.timeout <= _LONGEST:
        reading.error((*path, "timeout"), "must be more than 0 and at most 5m")
    if read.disable_tls and read.url.startswith("https"):
        message = f"the certificate of {_host(read.url)} is not verified: anybody may answer"
        reading.warn((*path, "disableTLS"), message, "let the server have a certificate you trust")


def url_problem(text: str) -> str:
    """Return why `text` cannot be called; empty when it can."""
    if _CONTROL.search(text):
        return "must not contain spaces or control characters"
    try:
        url = parse.urlsplit(text)
        host, _ = url.hostname, url.port
    except ValueError:
        return "is not an address"
    if url.scheme not in ("http", "https"):
        return "must begin with https:// or http://"
    if not host:
        return "must name a host"
    if url.username or url.password:
        return "must not contain a password; it would be stored in Git and shown in logs"
    return ""


def _host(text: str) -> str:
    try:
        return parse.urlsplit(text).hostname or ""
    except ValueError:
        return ""
