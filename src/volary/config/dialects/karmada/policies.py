"""The policies among the objects of a directory, each with the problems of its reading."""

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from volary.config.decoding import readings
from volary.config.dialects import drafts
from volary.config.dialects.karmada import schema
from volary.config.text import yaml
from volary.model import applications, errors

GROUP = "policy.karmada.io"
#: Below an application's directory, policies may be in one of this name.
DIRECTORY = "policies"
_FORMS: Mapping[str, type[schema.PropagationPolicy | schema.OverridePolicy]] = {
    "PropagationPolicy": schema.PropagationPolicy,
    "ClusterPropagationPolicy": schema.PropagationPolicy,
    "OverridePolicy": schema.OverridePolicy,
    "ClusterOverridePolicy": schema.OverridePolicy,
}

_NAMES = re.compile(r".*(policy|policies|propagation|karmada).*\.ya?ml", re.IGNORECASE)
_KIND = re.compile(r"^kind\s*:\s*[\"']?(Cluster)?PropagationPolicy\b", re.MULTILINE)
#: As ``kubectl get -o yaml`` writes several.
_LIST = re.compile(r"^kind\s*:\s*[\"']?List\b", re.MULTILINE)
_IN_LIST = re.compile(r"^[ -]+kind\s*:\s*[\"']?(Cluster)?PropagationPolicy\b", re.MULTILINE)

#: What to write in place of kinds that are no policies of objects.
_INSTEAD = {
    "FederatedResourceQuota": "write a ResourceQuota beside the manifests, with an override for "
    "what differs between clusters",
    "ClusterTaintPolicy": "write the rule under clusterHealth.taints of the server's settings",
}
_OF_LISTS = ("v1", "List")

P = TypeVar("P", schema.PropagationPolicy, schema.OverridePolicy)


@dataclass(frozen=True, slots=True)
class Policy(Generic[P]):
    """A policy that was read."""

    read: P
    #: Collects what is wrong with it.
    reading: readings.Reading

    @property
    def kind(self) -> str:
        """Its kind."""
        return self.read.kind

    @property
    def is_for_all_namespaces(self) -> bool:
        """It is one of the two kinds without a namespace."""
        return self.kind.startswith("Cluster")

    @property
    def name(self) -> str:
        """Its name."""
        return drafts.text(self.read.metadata, "name")

    @property
    def namespace(self) -> str:
        """Its namespace; empty: not written, or none."""
        return "" if self.is_for_all_namespaces else drafts.text(self.read.metadata, "namespace")

    @property
    def title(self) -> str:
        """Return it as a person names it."""
        return f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True)
class Policies:
    """All that were found, in the order in which they were found."""

    propagation: Sequence[Policy[schema.PropagationPolicy]]
    override: Sequence[Policy[schema.OverridePolicy]]
    #: Of documents that are no policy that could be read.
    others: Sequence[readings.Reading] = field(default=())


def is_policy_file_name(path: str) -> bool:
    """Say whether a file is looked into for policies when applications are searched for."""
    return _NAMES.fullmatch(posixpath.basename(path)) is not None


def has_propagation_policy(text: str) -> bool:
    """Say whether a file's text has a propagation policy in it, by a quick check of its text."""
    if GROUP not in text:
        return False
    in_list = _LIST.search(text) is not None and _IN_LIST.search(text) is not None
    return in_list or _KIND.search(text) is not None


def may_hold_policies(text: str) -> bool:
    """Say whether any policy may be in a file's text."""
    return GROUP in text


def unreadable(files: Mapping[str, str]) -> tuple[errors.Problem, ...]:
    """Return why files with policies cannot be read: without them it would go elsewhere."""
    problems: list[errors.Problem] = []
    for file, content in files.items():
        try:
            if may_hold_policies(content):
                yaml.load_all(content, file)
        except errors.UserError as error:
            problems += error.problems
    return tuple(problems)


def expand_lists(documents: Iterable[yaml.Document]) -> list[yaml.Document]:
    """Return the documents with the items of Lists in place of the Lists."""
    return [item for document in documents for item in _items(document)]


def _items(document: yaml.Document) -> Iterable[yaml.Document]:
    value = document.value
    items = value.get("items") if isinstance(value, dict) else None
    if not isinstance(items, list) or (value.get("apiVersion"), value.get("kind")) != _OF_LISTS:
        return [document]
    written = document.mark.entries.get("items")
    # Items that an alias stands for have no places of their own.
    marks = written.items if written else []
    marks = marks if len(marks) == len(items) else [document.mark] * len(items)
    return [
        yaml.Document(item, document.file, mark.line, mark)
        for item, mark in zip(items, marks, strict=True)
    ]


def is_policy(document: yaml.Document) -> bool:
    """Say whether a document is one of Karmada's policies."""
    return drafts.text(document.value, "apiVersion").startswith(f"{GROUP}/")


def read(documents: Iterable[yaml.Document]) -> Policies:
    """Return the policies among `documents`; what cannot be read is in `Policies.others`."""
    propagation: list[Policy[schema.PropagationPolicy]] = []
    override: list[Policy[schema.OverridePolicy]] = []
    others: list[readings.Reading] = []
    for document in filter(is_policy, documents):
        reading = readings.Reading(document, applications.Dialect.KARMADA)
        kind = document.value.get("kind")
        form = _FORMS.get(str(kind))
        if form is None:
            hint = _INSTEAD.get(str(kind), "remove it")
            reading.error(("kind",), f"{kind} is neither carried out nor applied", hint)
        policy = None if form is None else reading.read(form, document.value, ())
        _check_selectors(policy, reading)
        if policy is None or not _has_name(policy.metadata, reading):
            others.append(reading)
        elif isinstance(policy, schema.PropagationPolicy):
            propagation.append(Policy(policy, reading))
        else:
            override.append(Policy(policy, reading))
    return Policies(propagation, override, others)


def _check_selectors(
    policy: schema.PropagationPolicy | schema.OverridePolicy | None, reading: readings.Reading
) -> None:
    for place, selector in enumerate(policy.spec.resource_selectors if policy else ()):
        if selector.name and selector.label_selector is not None:
            at = ("spec", "resourceSelectors", place, "labelSelector")
            reading.warn(at, "has no effect beside name, in Karmada neither", "remove it")


def _has_name(metadata: dict[str, object], reading: readings.Reading) -> bool:
    if drafts.text(metadata, "name"):
        return True
    reading.error(("metadata", "name"), "is required, as text")
    return False
