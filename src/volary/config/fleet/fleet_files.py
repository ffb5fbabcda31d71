"""Reads fleet files: the clusters and how to reach them."""

import posixpath
from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

from pydantic import Field

from volary.config.decoding import base_sections, file_paths, readings
from volary.config.fleet import health_rules, piped_files, provider_sections
from volary.config.text import yaml
from volary.model import errors, options
from volary.model.fleet import fleets, taints
from volary.model.objects import object_health


class FleetFile(base_sections.Section):
    """The registered clusters."""

    api_version: Literal["volary.dev/v1"] = options.option(
        "Version of the format.", "volary.dev/v1"
    )
    kind: Literal["Fleet"] = Field(description="What the file describes.")
    clusters: list[fleets.Cluster] = Field(description="The clusters, in the order to show them.")
    analysis_providers: list[provider_sections.ProviderEntry] = options.option(
        "Systems that are asked for measurements.", []
    )
    health: list[object_health.Rule] = options.option(
        "When objects of custom kinds are healthy, for all applications; after their own rules.", []
    )


def parse(text: str, *, file: str, directory: str = "") -> readings.Loaded[fleets.Fleet]:
    """Read a fleet file, or PipeCD's piped file.

    Args:
        text: The file's text.
        file: Its name as the user knows it, for problems.
        directory: Where it is; relative kubeconfig paths start there.
    """
    form = "a fleet file has one document, an object with kind: Fleet"
    loaded = readings.load(text, file, form, lambda reading: _read(reading, directory))
    if loaded.value is None:
        return loaded
    return replace(loaded, value=replace(loaded.value, warnings=loaded.problems))


def _read(reading: readings.Reading, directory: str) -> fleets.Fleet | None:
    is_piped = reading.document.value.get("kind") == "Piped"
    return piped_files.convert(reading, directory) if is_piped else _convert(reading, directory)


def from_contexts(names: Iterable[str]) -> fleets.Fleet:
    """Return a fleet of contexts of the ordinary kubeconfig, each named like its context.

    Raises:
        UserError: No name, an empty one, or one twice.
    """
    chosen = [name.strip() for name in names]
    twice = sorted({name for name in chosen if chosen.count(name) > 1})
    if not chosen or "" in chosen:
        raise errors.user_error("a context has no name", hint="write --contexts us,eu")
    if twice:
        raise errors.user_error(f"the context {', '.join(twice)} is named twice")
    return fleets.Fleet(tuple(fleets.Cluster(name, context=name) for name in chosen))


def _convert(reading: readings.Reading, directory: str) -> fleets.Fleet | None:
    read = reading.read(FleetFile, reading.document.value, ())
    if read is None:
        return None
    if not read.clusters:
        reading.error(("clusters",), "the fleet has no cluster")
    seen: set[str] = set()
    for i, entry in enumerate(read.clusters):
        if entry.name in seen:
            reading.error(("clusters", i, "name"), f"the cluster {entry.name} is listed twice")
        seen.add(entry.name)
        if entry.in_cluster and (entry.kubeconfig or entry.context):
            message = "inCluster takes neither kubeconfig nor context"
            reading.error(
                ("clusters", i, "inCluster"), message, "keep one way to reach the cluster"
            )
        if entry.agent and (entry.kubeconfig or entry.context or entry.in_cluster):
            message = "agent takes no kubeconfig, context or inCluster: it has the credentials"
            reading.error(("clusters", i, "agent"), message, "keep one way to reach the cluster")
    providers = provider_sections.convert(reading, read.analysis_providers, directory, sorted(seen))
    for i, cluster in enumerate(read.clusters):
        _check_taints(reading, cluster.taints, ("clusters", i, "taints"))
    clusters = tuple(_with_paths(cluster, directory) for cluster in read.clusters)
    rules = health_rules.convert(reading, read.health, ("health",))
    return fleets.Fleet(clusters, providers, rules)


def _check_taints(reading: readings.Reading, read: Iterable[taints.Taint], path: yaml.Path) -> None:
    """Note marks of a cluster that are there twice."""
    known: set[tuple[str, taints.Effect]] = set()
    for place, taint in enumerate(read):
        if taint.identity in known:
            message = f"{taint.key}:{taint.effect.value} is there twice"
            reading.error((*path, place), message, "keep one of them")
        known.add(taint.identity)


def _with_paths(cluster: fleets.Cluster, directory: str) -> fleets.Cluster:
    paths = tuple(file_paths.resolve(path, directory) for path in cluster.kubeconfig)
    return replace(cluster, kubeconfig=paths)


def is_file_name(path: str) -> bool:
    """Say whether a file is a fleet file, by its name."""
    return posixpath.basename(path) == "fleet.yaml"
