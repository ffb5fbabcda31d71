"""From override policies to ``placement.overrides``, in the order in which Karmada applies them.

All cluster policies come first, then the namespaced ones; of each those that match everything,
then those that match labels, then those that match names; then by name. What comes later has
the last word (Karmada: ApplyOverridePolicies).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from volary.config.dialects import drafts
from volary.config.dialects.karmada import affinities, policies, schema
from volary.config.text import yaml
from volary.model.placement import overrides as placement_overrides

Override = policies.Policy[schema.OverridePolicy]
_OVERRIDES: yaml.Path = ("spec", "placement", "overrides")
#: What our own file fills in, and Karmada leaves as it is.
_FILLED = "${cluster."
#: Changes that both write alike, as they are called here and there.
_SAME_FORM = {
    "commands": "commandOverrider",
    "args": "argsOverrider",
    "labels": "labelsOverrider",
    "annotations": "annotationsOverrider",
}


@dataclass(frozen=True, slots=True)
class _Part:
    """The selectors of one strength of one policy."""

    policy: Override
    strength: affinities.Strength
    selectors: Sequence[schema.ResourceSelector]

    @property
    def rank(self) -> tuple[bool, int, str]:
        return not self.policy.is_for_all_namespaces, self.strength, self.policy.name


def translate(
    made: drafts.Draft, overrides: Sequence[Override], *, several_namespaces: bool
) -> None:
    """Write all overrides; `several_namespaces` when the objects are not all in one."""
    parts = [part for override in overrides for part in _parts(override)]
    entries: list[tuple[dict[str, Any], Override, yaml.Path]] = []
    for part in sorted(parts, key=lambda candidate: candidate.rank):
        resources = list(_resources(part, several_namespaces=several_namespaces))
        for rule, at in _rules(part.policy):
            changes = _changes(part.policy, rule.overriders, (*at, "overriders"))
            if not changes:
                continue
            clusters = affinities.clusters(rule.target_cluster)
            entry = {
                **({"targets": clusters} if clusters else {}),
                **({"resources": resources} if resources else {}),
                **changes,
            }
            entries.append((entry, part.policy, at))
    for i, (entry, policy, at) in enumerate(entries):
        made.put((*_OVERRIDES, i), entry, policy.reading.where(at))


def compare(overrides: Sequence[Override], objects: Sequence[yaml.Document]) -> None:
    """Note policies that select none of the objects beside them."""
    for policy in overrides:
        selectors = policy.read.spec.resource_selectors
        takes = any(
            affinities.selects(selector, document.value, policy.namespace)
            for selector in selectors
            for document in objects
        )
        if selectors and not takes:
            message = f"{policy.title} is for none of the objects beside it"
            policy.reading.warn(("spec", "resourceSelectors"), message, "remove it, or correct it")


def _parts(policy: Override) -> Iterator[_Part]:
    selectors = policy.read.spec.resource_selectors
    if not selectors:
        yield _Part(policy, affinities.Strength.ALL, ())
        return
    by_strength: dict[affinities.Strength, list[schema.ResourceSelector]] = {}
    kinds: dict[tuple[str, str], affinities.Strength] = {}
    for i, selector in enumerate(selectors):
        strength = affinities.strength(selector)
        if kinds.setdefault((selector.api_version, selector.kind), strength) is not strength:
            policy.reading.error(
                ("spec", "resourceSelectors", i),
                f"{selector.kind} is selected in two ways by one policy, of which Karmada takes"
                " the more exact one",
                "write a policy for each of them",
            )
        by_strength.setdefault(strength, []).append(selector)
    for strength, chosen in by_strength.items():
        yield _Part(policy, strength, chosen)


def _resources(part: _Part, *, several_namespaces: bool) -> Iterator[dict[str, Any]]:
    own = part.policy.namespace
    if not part.selectors and own and several_namespaces:
        yield {"namespace": own}
    for selector in part.selectors:
        labels = selector.label_selector if not selector.name else None
        namespace = (selector.namespace or own) if several_namespaces else ""
        resource: dict[str, Any] = {
            "apiVersion": selector.api_version,
            "kind": selector.kind,
            "namespace": namespace,
            "name": selector.name,
            "matchLabels": dict(labels.match_labels) if labels else {},
            "matchExpressions": [affinities.requirement(one) for one in labels.match_expressions]
            if labels
            else [],
        }
        yield {key: value for key, value in resource.items() if value}


def _rules(policy: Override) -> Iterator[tuple[schema.OverrideRule, yaml.Path]]:
    """Yield the rules; the policy's own fields count when there are none (Karmada before 1.0)."""
    spec = policy.read.spec
    if not spec.override_rules and spec.overriders is not None:
        rule = schema.OverrideRule(targetCluster=spec.target_cluster, overriders=spec.overriders)
        yield rule, ("spec",)
    elif spec.overriders is not None or spec.target_cluster is not None:
        key = "overriders" if spec.overriders is not None else "targetCluster"
        message = "has no effect beside overrideRules, in Karmada neither"
        policy.reading.warn(("spec", key), message, "write a rule, or remove it")
    for i, override_rule in enumerate(spec.override_rules):
        yield override_rule, ("spec", "overrideRules", i)


def _changes(policy: Override, read: schema.Overriders, path: yaml.Path) -> dict[str, Any]:
    """Return the changes of a rule; values that our own file would fill in are refused."""
    changes: dict[str, Any] = {"images": [_image(overrider) for overrider in read.image_overrider]}
    for key, theirs in _SAME_FORM.items():
        given: Any = policy.reading.written((*path, theirs)) or []
        changes[key] = [change for change in given if change.get("value")]
    given = policy.reading.written((*path, "fieldOverrider")) or []
    changes["fields"] = [
        _field(change) for change in given if change.get("yaml") or change.get("json")
    ]
    changes["patches"] = policy.reading.written((*path, "plaintext")) or []
    if _FILLED in str(changes):
        message = f"a value holds {_FILLED}…}}, which is filled in here and not by Karmada"
        policy.reading.error(path, message, "write the value without it")
    return {key: value for key, value in changes.items() if value}


def _image(read: schema.ImageOverrider) -> dict[str, Any]:
    change = {"component": read.component.value, "operator": read.operator.value}
    if read.value and read.operator is not placement_overrides.Operator.REMOVE:
        change["value"] = read.value
    return {**change, "path": read.predicate.path} if read.predicate else change


def _field(written: dict[str, Any]) -> dict[str, Any]:
    """Return a change inside a text; YAML counts when both are given."""
    return {key: written[key] for key in written if key != "json" or not written.get("yaml")}
