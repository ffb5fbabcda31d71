"""Which propagation policy is for which object, by Karmada's order of policies."""

import posixpath
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from volary.config.dialects import drafts
from volary.config.dialects.karmada import affinities, policies, recognition, schema
from volary.config.text import yaml

T = TypeVar("T")

Propagation = policies.Policy[schema.PropagationPolicy]

#: Why all policies of an application have to agree.
SAME_CLUSTERS = ", but an application is on the same clusters with all of its objects"
#: Karmada sends these where what needs them goes, without a policy of their own.
_BY_ITSELF = ("Namespace",)
#: What ``propagateDeps`` may send along.
_DEPENDENCIES = (
    "ConfigMap",
    "Secret",
    "PersistentVolumeClaim",
    "ServiceAccount",
    "Service",
    "EndpointSlice",
)
_OWN = ("volary.dev/", "pipecd.dev/", "flagger.app/", "kustomize.config.k8s.io/")
_KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")


@dataclass(frozen=True, slots=True)
class PolicyMatches:
    """Who is for what."""

    #: Policies that are for something, with what they are for.
    claimed: Sequence[tuple[Propagation, Sequence[yaml.Document]]]
    #: Objects that no policy is for.
    unclaimed: Sequence[yaml.Document]


def manifests(documents: Iterable[yaml.Document], directory: str) -> list[yaml.Document] | None:
    """Return the objects among the documents of a directory.

    None when files are not what is deployed, but something is built from them.
    """
    objects = []
    for document in documents:
        if posixpath.basename(document.file) in _KUSTOMIZATIONS:
            return None
        if posixpath.basename(document.file) == "Chart.yaml":
            return None
        if posixpath.dirname(document.file) == directory and _is_object(document):
            objects.append(document)
    return objects


def _is_object(document: yaml.Document) -> bool:
    value = document.value
    version = drafts.text(value, "apiVersion")
    ours = version.startswith(_OWN) or recognition.is_policy(document)
    return bool(version and drafts.text(value, "kind")) and not ours


def match_policies(
    objects: Sequence[yaml.Document], propagations: Sequence[Propagation]
) -> PolicyMatches:
    """Return which policy is for which object.

    Those with a namespace come first; then the higher priority, the more exact selector, and the
    name that sorts first (Karmada: the order in which policies claim a template).
    """
    claimed: dict[int, list[yaml.Document]] = {}
    unclaimed = []
    for document in objects:
        best = min(
            (i for i in range(len(propagations)) if _strength(propagations[i], document.value)),
            key=lambda i: _precedence(propagations[i], document.value),
            default=None,
        )
        if best is not None:
            claimed.setdefault(best, []).append(document)
        elif not _is_dependency(document.value, propagations):
            unclaimed.append(document)
    return PolicyMatches([(propagations[i], claimed[i]) for i in sorted(claimed)], unclaimed)


def agreed(
    propagations: Sequence[Propagation],
    section: Callable[[Propagation], T],
    path: yaml.Path,
    differs: str,
    *,
    objects: str = "objects",
) -> T:
    """Return what the first policy says, and note the policies that say something else.

    `differs` follows a policy's title; `objects` are what all of them would have to agree on.
    """
    first = propagations[0]
    wanted = section(first)
    for policy in propagations:
        if section(policy) != wanted:
            policy.reading.error(
                path,
                f"{policy.title} {differs.format(first.title)}",
                f"put the {objects} of each placement into a directory of their own",
            )
    return wanted


def _strength(policy: Propagation, body: Mapping[str, Any]) -> affinities.Strength:
    return max(
        affinities.selects(resource_selector, body, policy.namespace)
        for resource_selector in policy.read.spec.resource_selectors
    )


def _precedence(policy: Propagation, body: Mapping[str, Any]) -> tuple[bool, int, int, str]:
    strength = _strength(policy, body)
    return policy.is_for_all_namespaces, -policy.read.spec.priority, -strength, policy.name


def _is_dependency(body: Mapping[str, Any], propagations: Sequence[Propagation]) -> bool:
    kind = body.get("kind")
    if kind in _BY_ITSELF:
        return True
    along = any(
        policy.read.spec.propagate_deps or policy.read.spec.association for policy in propagations
    )
    return along and kind in _DEPENDENCIES
