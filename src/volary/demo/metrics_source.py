"""Where the demo's analysis gets its numbers: real Prometheus, or the sandbox's own counters."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from kube_sandbox import fleet, prometheus

_COUNTERS = "/counters?cluster={{ cluster }}&workload={{ target }}&window={{ interval }}"
#: Fields of the sandbox's counters, by the names of the examples' metrics.
_FIELDS = {"request-success-rate": "$.successRate", "request-duration": "$.p99Milliseconds"}


@dataclass(frozen=True, slots=True)
class Source:
    """A provider of metrics."""

    #: As it stands in the fleet file.
    settings: dict[str, Any]
    #: What the demo says about it.
    words: str
    #: Queries of examples are for Prometheus; others have to be written anew.
    is_prometheus: bool


@contextlib.asynccontextmanager
async def source(running: fleet.Fleet) -> AsyncIterator[Source]:
    """Give what analyses ask; Prometheus where it is installed."""
    if not prometheus.is_installed():
        words = "the sandbox's own counters, as Prometheus is not installed here"
        yield Source(
            _settings("http", address=running.required_metrics_url), words, is_prometheus=False
        )
        return
    async with prometheus.scraping(running) as url:
        settings = _settings(
            "prometheus", address=url, clusterLabel="cluster", scrapeInterval=prometheus.SCRAPE
        )
        yield Source(settings, f"Prometheus at {url}", is_prometheus=True)


def _settings(kind: str, **config: str) -> dict[str, Any]:
    # Shared for a moment only: the demo looks every few seconds.
    return {"name": "metrics", "type": kind, "config": {**config, "share": "500ms"}}


def register(running: fleet.Fleet, chosen: Source) -> None:
    """Write a provider into the fleet file."""
    content = yaml.safe_load(running.path.read_text())
    content["analysisProviders"] = [chosen.settings]
    running.path.write_text(yaml.safe_dump(content, sort_keys=False))


def rewrite(file: Path, chosen: Source) -> None:
    """Let an application file ask a provider that is not Prometheus."""
    if chosen.is_prometheus:
        return
    content = yaml.safe_load(file.read_text())
    for environment in content["spec"]["pipeline"]["stages"]:
        options = environment.get("with") or {}
        for part in (options, options.get("prePromotion"), options.get("postPromotion")):
            for metric in (part or {}).get("metrics") or ():
                _rewrite(metric)
    file.write_text(yaml.safe_dump(content, sort_keys=False))


def _rewrite(metric: dict[str, Any]) -> None:
    if metric.get("kind") == "proportion":
        metric["query"] = f"{_COUNTERS}\n$.errors"
        metric["totalQuery"] = f"{_COUNTERS}\n$.requests"
    else:
        metric["query"] = f"{_COUNTERS}\n{_FIELDS[metric['name']]}"
