"""The policies among the objects of a directory, each with the problems of its reading."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from volary.config.decoding import readings
from volary.config.dialects import drafts
from volary.config.dialects.karmada import recognition, schema
from volary.config.text import yaml
from volary.model import applications

_FORMS: Mapping[str, type[schema.PropagationPolicy | schema.OverridePolicy]] = {
    "PropagationPolicy": schema.PropagationPolicy,
    "ClusterPropagationPolicy": schema.PropagationPolicy,
    "OverridePolicy": schema.OverridePolicy,
    "ClusterOverridePolicy": schema.OverridePolicy,
}

#: What to write in place of kinds that are no policies of objects.
_INSTEAD = {
    "FederatedResourceQuota": "write a ResourceQuota beside the manifests, with an override for "
    "what differs between clusters",
    "ClusterTaintPolicy": "write the rule under clusterHealth.taints of the server's settings",
}

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


def read(documents: Iterable[yaml.Document]) -> Policies:
    """Return the policies among `documents`; what cannot be read is in `Policies.others`."""
    propagation: list[Policy[schema.PropagationPolicy]] = []
    override: list[Policy[schema.OverridePolicy]] = []
    others: list[readings.Reading] = []
    for document in filter(recognition.is_policy, documents):
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
