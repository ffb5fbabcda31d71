"""Reads documents of kind `Workspace`."""

import functools
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Literal

from pydantic import Field

from volary.config.decoding import base_sections, readings, values
from volary.config.text import yaml
from volary.model import options, project_identities, workspaces
from volary.model.placement import rollouts

KIND = "Workspace"
#: A quantity as Kubernetes writes it: `10`, `500m`, `1.5Gi`, `1e3`.
_QUANTITY = re.compile(r"\+?(\d+(\.\d*)?|\.\d+)(m|[kMGTPE]|[KMGTPE]i|[eE][+-]?\d+)?")
_PROTOCOLS = ("TCP", "UDP", "SCTP")
#: Namespaces of the cluster's own.
_OF_CLUSTER = re.compile(r"default|kube-.*")
_RESERVED = ("volary.dev/", "kubernetes.io/", "pod-security.kubernetes.io/")


class _Metadata(base_sections.Section):
    """Its name."""

    name: options.DnsLabel = options.option("Its name.", "", required=True)


class WorkspaceFile(base_sections.Section):
    """A workspace."""

    api_version: Literal["volary.dev/v1"] = options.option(
        "Version of the format.", "volary.dev/v1", required=True
    )
    kind: Literal["Workspace"] = Field(description="What the document describes.")
    metadata: _Metadata = Field(description="Its name.")
    spec: workspaces.Workspace = Field(description="What it consists of.")


def parse(text: str, *, file: str) -> readings.Loaded[workspaces.Workspace]:
    """Read a file with one workspace."""
    form = "a workspace file has one document, an object with kind: Workspace"
    return readings.load(text, file, form, convert)


def convert(reading: readings.Reading) -> workspaces.Workspace | None:
    """Return the workspace of a document; None when it cannot be read, noted then."""
    file = reading.read(WorkspaceFile, reading.document.value, ())
    if file is None:
        return None
    workspace = replace(file.spec, name=file.metadata.name)
    _check_namespaces(reading, workspace.namespaces)
    _check_deployer(reading, workspace.deployer)
    _check_members(reading, workspace.members)
    _check_bounds(reading, workspace)
    for direction, entries in (
        ("allowFrom", workspace.network.allow_from),
        ("allowTo", workspace.network.allow_to),
    ):
        if entries and not workspace.network.isolate:
            reading.error(
                ("spec", "network", direction),
                f"{direction} has no effect without isolate",
                "write isolate: true, or leave the exceptions out",
            )
        for place, entry in enumerate(entries):
            _check_exception(reading, entry, ("spec", "network", direction, place))
    return workspace


def _check_namespaces(
    reading: readings.Reading, given: Iterable[workspaces.WorkspaceNamespace]
) -> None:
    seen: set[str] = set()
    for place, namespace in enumerate(given):
        here: yaml.Path = ("spec", "namespaces", place)
        if _OF_CLUSTER.fullmatch(namespace.name):
            reading.error(
                (*here, "name"),
                f"the namespace {namespace.name} is the cluster's own",
                "give the team a namespace of its own",
            )
        if namespace.name in seen:
            reading.error((*here, "name"), f"the namespace {namespace.name} is there twice")
        seen.add(namespace.name)
        _check_labels(reading, namespace.labels, (*here, "labels"))
        _check_reserved(reading, namespace.annotations, (*here, "annotations"))
    if not seen:
        reading.error(("spec", "namespaces"), "the workspace has no namespace")


def _check_labels(reading: readings.Reading, labels: Mapping[str, str], path: yaml.Path) -> None:
    for key, value in labels.items():
        reading.accepts((*path, key), functools.partial(values.label_key, key))
        reading.accepts((*path, key), functools.partial(values.label_value, value))
    _check_reserved(reading, labels, path)


def _check_reserved(reading: readings.Reading, given: Mapping[str, str], path: yaml.Path) -> None:
    for key in given:
        if key.startswith(_RESERVED):
            hint = "podSecurity chooses the level" if key.startswith(_RESERVED[-1]) else ""
            reading.error((*path, key), f"{key} is not a workspace's to set", hint)


def _check_deployer(reading: readings.Reading, deployer: workspaces.Deployer) -> None:
    here: yaml.Path = ("spec", "deployer")
    if deployer.user and reading.written((*here, "serviceAccount")) is not None:
        reading.error(here, "user and serviceAccount are both given", "keep one of them")
    if deployer.service_account in ("", "default"):
        message = "the deployer needs a ServiceAccount of its own"
        reading.error((*here, "serviceAccount"), message, "pods that name none run as default")
    _check_subject(reading, deployer.user, (*here, "user"))
    if reading.written((*here, "rules")) == []:
        reading.error((*here, "rules"), "the deployer may do nothing", "leave rules out, or say")
    _check_rules(reading, deployer.rules, (*here, "rules"))


def _check_members(reading: readings.Reading, members: Iterable[workspaces.Member]) -> None:
    seen: set[tuple[str, str]] = set()
    for place, member in enumerate(members):
        here: yaml.Path = ("spec", "members", place)
        if bool(member.group) == bool(member.user):
            reading.error(here, "a member is a group or a user", "write one of group and user")
        if (member.role is None) == (not member.rules):
            reading.error(here, "a member has a role or rules", "write one of role and rules")
        if (member.group, member.user) in seen:
            reading.error(here, f"the member {member.group or member.user} is there twice")
        seen.add((member.group, member.user))
        _check_subject(reading, member.group, (*here, "group"))
        _check_subject(reading, member.user, (*here, "user"))
        _check_rules(reading, member.rules, (*here, "rules"))


def _check_subject(reading: readings.Reading, name: str, path: yaml.Path) -> None:
    if project_identities.is_of_kubernetes(name):
        reading.error(path, f"{name} is the cluster's own", "name a group of the team's")


def _check_rules(
    reading: readings.Reading, rules: Iterable[workspaces.PolicyRule], path: yaml.Path
) -> None:
    for place, rule in enumerate(rules):
        for name, given in (
            ("verbs", rule.verbs),
            ("apiGroups", rule.api_groups),
            ("resources", rule.resources),
        ):
            if not given:
                reading.error((*path, place, name), f"the rule has no {name}")


def _check_bounds(reading: readings.Reading, workspace: workspaces.Workspace) -> None:
    if workspace.quota is not None:
        _check_quantities(reading, workspace.quota.hard, ("spec", "quota", "hard"))
    for place, item in enumerate(workspace.limits):
        for name, given in (
            ("max", item.max),
            ("min", item.min),
            ("default", item.default),
            ("defaultRequest", item.default_request),
            ("maxLimitRequestRatio", item.max_limit_request_ratio),
        ):
            _check_quantities(reading, given, ("spec", "limits", place, name))


def _check_quantities(
    reading: readings.Reading, given: workspaces.Quantities, path: yaml.Path
) -> None:
    for name, value in given.items():
        if not _QUANTITY.fullmatch(str(value)):
            message = f"{value} is no quantity"
            reading.error((*path, name), message, "write it as 10, 500m or 1Gi")


def _check_exception(
    reading: readings.Reading, entry: workspaces.NetworkException, path: yaml.Path
) -> None:
    selects = entry.namespace_selector is not None or entry.pod_selector is not None
    if entry.ip_block is not None and selects:
        reading.error(path, "ipBlock stands by itself", "make another entry of the selectors")
    if entry.ip_block is None and not selects and not entry.ports:
        reading.error(path, "the exception says nothing", "name whom it is for, or ports")
    selectors = (
        ("namespaceSelector", entry.namespace_selector),
        ("podSelector", entry.pod_selector),
    )
    for name, selector in selectors:
        for place, requirement in enumerate(selector.match_expressions if selector else ()):
            takes_values = requirement.operator in (rollouts.Operator.IN, rollouts.Operator.NOT_IN)
            if takes_values != bool(requirement.values):
                word = "needs" if takes_values else "takes no"
                here = (*path, name, "matchExpressions", place)
                reading.error(here, f"{requirement.operator.value} {word} values")
    for place, port in enumerate(entry.ports):
        here = (*path, "ports", place)
        if port.protocol not in _PROTOCOLS:
            hint = readings.did_you_mean(port.protocol, _PROTOCOLS)
            reading.error((*here, "protocol"), f"{port.protocol} is no protocol", hint)
        is_number = isinstance(port.port, int)
        if is_number and not 0 < int(port.port) <= 65535:
            reading.error((*here, "port"), "a port is a number from 1 to 65535, or a name")
        if port.end_port and not (is_number and port.end_port >= int(port.port)):
            reading.error((*here, "endPort"), "endPort is not less than port, which is a number")
