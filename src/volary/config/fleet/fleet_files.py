"""Reads fleet files: the clusters and how to reach them."""

import posixpath
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Literal

import pydantic
from pydantic import Field

from volary.config.decoding import base_sections, file_paths, readings, values
from volary.config.fleet import (
    cluster_taints,
    health_rules,
    piped_files,
    provider_readers,
    provider_sections,
)
from volary.config.text import yaml
from volary.model import errors
from volary.model.fleet import fleets

_API_VERSION = "volary.dev/v1"


def _as_list(value: object) -> object:
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list):
        raise ValueError("must be a path or a list of paths")
    return value


Kubeconfig = Annotated[
    list[base_sections.Text],
    pydantic.BeforeValidator(_as_list),
    pydantic.WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "minLength": 1},
                {"type": "array", "items": {"type": "string", "minLength": 1}},
            ],
            "title": "Kubeconfig",
        }
    ),
]


class ClusterEntry(base_sections.Section):
    """One cluster."""

    name: values.ClusterName = Field(description="Name of the cluster, unique in the fleet.")
    labels: dict[str, str] = Field(
        default_factory=dict, description="Labels such as region, env or zone, to choose by."
    )
    kubeconfig: Kubeconfig = Field(
        default_factory=list,
        description="A kubeconfig file or a list of them, relative to the fleet file. Empty: "
        "`KUBECONFIG`, else `~/.kube/config`.",
    )
    context: str = Field(
        default="", description="Context in the kubeconfig; empty: its current context."
    )
    in_cluster: pydantic.StrictBool = Field(
        default=False, description="Use the pod's service account instead of a kubeconfig."
    )
    namespaces: list[values.DnsLabel] = Field(
        default_factory=list, description="Namespaces Volary may work in; empty: all."
    )
    suspended: pydantic.StrictBool = Field(
        default=False, description="Leave the cluster out of new runs."
    )
    provider: str = Field(default="", description="Who runs it; empty: its label `provider`.")
    region: str = Field(default="", description="Where it is; empty: its label `region`.")
    zones: list[base_sections.Text] = Field(
        default_factory=list, description="Its zones; empty: its label `zone`."
    )
    taints: list[cluster_taints.Taint] = Field(
        default_factory=list,
        description="Marks that keep applications away that do not tolerate them.",
    )


class FleetFile(base_sections.Section):
    """The registered clusters."""

    api_version: Literal["volary.dev/v1"] = Field(
        default="volary.dev/v1", description="Version of the format."
    )
    kind: Literal["Fleet"] = Field(description="What the file describes.")
    clusters: list[ClusterEntry] = Field(description="The clusters, in the order to show them.")
    analysis_providers: list[provider_sections.ProviderEntry] = Field(
        default_factory=list, description="Systems that are asked for measurements."
    )
    health: list[health_rules.HealthRule] = Field(
        default_factory=list,
        description="When objects of custom kinds are healthy, for all applications; after their "
        "own rules.",
    )


@dataclass(frozen=True, slots=True)
class LoadedFleet:
    """What a fleet file says and what is wrong with it."""

    #: None when there is an error.
    fleet: fleets.Fleet | None
    problems: tuple[errors.Problem, ...] = ()

    def require(self) -> fleets.Fleet:
        """Return the fleet.

        Raises:
            UserError: There are errors; carries all of them.
        """
        if self.fleet is None:
            raise errors.UserError(*self.problems)
        return self.fleet


def parse(text: str, *, file: str, directory: str = "") -> LoadedFleet:
    """Read a fleet file, or PipeCD's piped file.

    Args:
        text: The file's text.
        file: Its name as the user knows it, for problems.
        directory: Where it is; relative kubeconfig paths start there.
    """
    try:
        documents = yaml.load_all(text, file)
    except errors.UserError as error:
        return LoadedFleet(None, error.problems)
    if len(documents) != 1 or not isinstance(documents[0].value, dict):
        message = "a fleet file has one document, an object with kind: Fleet"
        return LoadedFleet(None, (errors.Problem(message, errors.Location(file)),))
    reading = readings.Reading(documents[0])
    is_piped = documents[0].value.get("kind") == "Piped"
    found = piped_files.convert(reading, directory) if is_piped else _convert(reading, directory)
    problems = tuple(sorted(reading.problems, key=lambda each: each.where.line))
    return LoadedFleet(None if reading.has_errors else found, problems)


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
    for i, each in enumerate(read.clusters):
        if each.name in seen:
            reading.error(("clusters", i, "name"), f"the cluster {each.name} is listed twice")
        seen.add(each.name)
        if each.in_cluster and (each.kubeconfig or each.context):
            message = "inCluster takes neither kubeconfig nor context"
            reading.error(
                ("clusters", i, "inCluster"), message, "keep one way to reach the cluster"
            )
    found = provider_readers.convert(reading, read.analysis_providers, directory, sorted(seen))
    clusters = tuple(_cluster(reading, each, i, directory) for i, each in enumerate(read.clusters))
    rules = health_rules.convert(reading, read.health, ("health",))
    return fleets.Fleet(clusters, found, rules)


def _cluster(
    reading: readings.Reading, read: ClusterEntry, place: int, directory: str
) -> fleets.Cluster:
    return fleets.Cluster(
        name=read.name,
        labels=read.labels,
        kubeconfig=tuple(file_paths.resolve(path, directory) for path in read.kubeconfig),
        context=read.context,
        in_cluster=read.in_cluster,
        namespaces=tuple(read.namespaces),
        suspended=read.suspended,
        provider=read.provider,
        region=read.region,
        zones=tuple(read.zones),
        taints=cluster_taints.taints_of_cluster(
            reading, read.taints, ("clusters", place, "taints")
        ),
    )


def is_file_name(path: str) -> bool:
    """Say whether a file is a fleet file, by its name."""
    return posixpath.basename(path) == "fleet.yaml"
