"""From the policies of a directory to a file of our own dialect."""

from collections.abc import Sequence
from dataclasses import dataclass

from volary.config.decoding import readings
from volary.config.dialects import drafts
from volary.config.dialects.karmada import (
    affinities,
    override_rules,
    policies,
    policy_matching,
    propagation,
    recognition,
    spread_and_failover,
)
from volary.config.text import yaml
from volary.model import applications, errors

_OVERRIDES: yaml.Path = ("spec", "placement", "overrides")
#: What objects say to Karmada themselves.
_RETAIN = "resourcetemplate.karmada.io/retain-replicas"
_CONFLICTS = "work.karmada.io/conflict-resolution"


@dataclass(frozen=True, slots=True)
class OwnSections:
    """What an application file beside the policies says itself; its word counts."""

    #: As the user knows it; empty: there is none, the policies are all there is.
    file: str = ""
    has_targets: bool = False
    has_replicas: bool = False
    has_spread: bool = False
    has_failover: bool = False
    #: Where its manifests come from, or where they go, is written there.
    has_input: bool = False


def translate(
    documents: Sequence[yaml.Document], directory: str, name: str, own: OwnSections | None = None
) -> drafts.Translation:
    """Translate the policies among `documents`.

    Args:
        documents: Of the application's directory, with at least one policy.
        directory: The directory, as in the documents' files.
        name: Of the application.
        own: What the application file beside them says.
    """
    own = own or OwnSections()
    first = next(document for document in documents if recognition.is_policy(document))
    made = drafts.Draft(first.where(()))
    policy_set = policies.read(documents)
    made.put(("apiVersion",), applications.Dialect.VOLARY.value)
    made.put(("kind",), "Application")
    made.put(("metadata", "name"), name)
    objects = None if own.has_input else policy_matching.manifests(documents, directory)
    _namespace(made, policy_set, objects, own)
    _propagate(made, policy_set, objects, own)
    several = _has_several_namespaces(policy_set, objects)
    override_rules.translate(made, policy_set.override, several_namespaces=several)
    if objects is not None:
        override_rules.compare(policy_set.override, objects)
    readings = [
        *(policy.reading for policy in policy_set.propagation),
        *(override.reading for override in policy_set.override),
        *policy_set.others,
    ]
    problems = tuple(problem for reading in readings for problem in reading.problems)
    return drafts.Translation(made, problems)


def _propagate(
    made: drafts.Draft,
    policy_set: policies.Policies,
    objects: Sequence[yaml.Document] | None,
    own: OwnSections,
) -> None:
    if not policy_set.propagation:
        return
    for propagation_policy in policy_set.propagation:
        propagation.check_namespaces(propagation_policy)
    claimed: list[tuple[policy_matching.Propagation, Sequence[yaml.Document] | None]]
    claimed = [(policy, None) for policy in policy_set.propagation]
    if objects is not None:
        decided = policy_matching.match_policies(objects, policy_set.propagation)
        _compare(policy_set, decided, objects, own)
        _check_templates(objects, policy_set.propagation[0].reading)
        claimed = list(decided.claimed) or claimed
    about = [policy for policy, _ in claimed]
    for propagation_policy in about:
        propagation.check_propagation(propagation_policy)
        _overrides_are_there(propagation_policy, policy_set)
    propagation.suspension(about)
    spread_and_failover.translate(made, about)
    _warn_overruled_moves(about, own)
    if own.has_targets:
        propagation.suspended_clusters(made, about)
        _warn_overruled(about, own, "targets", ("spec", "placement"))
    else:
        propagation.targets(made, about)
    if not own.has_replicas:
        propagation.replicas(made, claimed)
    elif any(policy.read.spec.placement.replica_scheduling for policy in about):
        at = ("spec", "placement", "replicaScheduling")
        _warn_overruled(about, own, "placement.replicas", at)


def _warn_overruled(
    about: Sequence[policy_matching.Propagation], own: OwnSections, section: str, path: yaml.Path
) -> None:
    for policy in about:
        message = f"{policy.title} has no say in this: {own.file} has spec.{section}"
        policy.reading.warn(path, message, "keep one of them")


def _warn_overruled_moves(about: Sequence[policy_matching.Propagation], own: OwnSections) -> None:
    """Note what of a policy about spread and failover does not count."""
    spreading = [policy for policy in about if policy.read.spec.placement.spread_constraints]
    if own.has_spread:
        at = ("spec", "placement", "spreadConstraints")
        _warn_overruled(spreading, own, "placement.spread", at)
    if own.has_failover:
        leaving = [policy for policy in about if policy.read.spec.failover is not None]
        _warn_overruled(leaving, own, "placement.failover", ("spec", "failover"))


def _compare(
    policy_set: policies.Policies,
    decided: policy_matching.PolicyMatches,
    objects: Sequence[yaml.Document],
    own: OwnSections,
) -> None:
    """Note policies without objects, and objects without a policy."""
    used = [policy for policy, _ in decided.claimed]
    for propagation_policy in policy_set.propagation:
        if propagation_policy not in used:
            message = f"{propagation_policy.title} is for none of the objects beside it"
            propagation_policy.reading.warn(("spec", "resourceSelectors"), message, "remove it")
            continue
        for place, selector in enumerate(propagation_policy.read.spec.resource_selectors):
            chosen = (
                affinities.selects(selector, document.value, propagation_policy.namespace)
                for document in objects
            )
            if selector.name and not any(chosen):
                at = ("spec", "resourceSelectors", place)
                message = f"there is no {selector.kind} {selector.name} beside the policy"
                propagation_policy.reading.warn(at, message, "add it, or remove the selector")
    if own.has_targets or not policy_set.propagation:
        return
    for document in decided.unclaimed:
        body = document.value
        name = drafts.text(body.get("metadata"), "name")
        policy_set.propagation[0].reading.problems.append(
            errors.Problem(
                f"no policy is for {body.get('kind')} {name}, so Karmada would leave it out",
                document.where(()),
                "add it to the resourceSelectors of a policy, or move it to another directory",
            )
        )


def _check_templates(objects: Sequence[yaml.Document], reading: readings.Reading) -> None:
    """Note what objects themselves say to Karmada."""
    for document in objects:
        body = document.value
        metadata = body.get("metadata")
        metadata = metadata if isinstance(metadata, dict) else {}
        title = f"{body.get('kind')} {drafts.text(metadata, 'name')}"
        is_retained = drafts.text(metadata.get("labels"), _RETAIN) == "true"
        if body.get("kind") == "Deployment" and is_retained:
            message = f"{title} keeps the replicas of each cluster ({_RETAIN}): not carried out"
            hint = "remove the label and spec.replicas: what nobody writes stays as it is"
            reading.problems.append(errors.Problem(message, document.where(()), hint))
        if drafts.text(metadata.get("annotations"), _CONFLICTS) == "overwrite":
            message = (
                f"{_CONFLICTS} of {title} has no effect: fields of controllers are not taken over"
            )
            hint = "annotate the object with volary.dev/force-conflicts: enabled"
            warning = errors.Severity.WARNING
            reading.problems.append(errors.Problem(message, document.where(()), hint, warning))


def _overrides_are_there(
    policy: policy_matching.Propagation, policy_set: policies.Policies
) -> None:
    known = {override.name for override in policy_set.override}
    for i, name in enumerate(policy.read.spec.dependent_overrides):
        if name not in known:
            message = f"{policy.title} waits for the override policy {name}, which is not here"
            policy.reading.error(("spec", "dependentOverrides", i), message, "add it, or remove it")


def _namespace(
    made: drafts.Draft,
    policy_set: policies.Policies,
    objects: Sequence[yaml.Document] | None,
    own: OwnSections,
) -> None:
    """Policies and objects go together: what names no namespace is in that of the policies."""
    wanted = {policy.namespace for policy in policy_set.propagation if policy.namespace}
    if own.file or objects is None or len(wanted) != 1:
        return
    (namespace,) = wanted
    if _namespaces(objects) <= {"", namespace}:
        where = next(policy for policy in policy_set.propagation if policy.namespace).reading
        made.put(("spec", "input", "namespace"), namespace, where.where(("metadata", "namespace")))


def _has_several_namespaces(
    policy_set: policies.Policies, objects: Sequence[yaml.Document] | None
) -> bool:
    if objects is None:
        return True
    wanted = {policy.namespace for policy in policy_set.propagation}
    wanted |= {override.namespace for override in policy_set.override}
    return len((wanted | _namespaces(objects)) - {""}) > 1


def _namespaces(objects: Sequence[yaml.Document]) -> set[str]:
    return {drafts.text(document.value.get("metadata"), "namespace") for document in objects}


@dataclass(frozen=True, slots=True)
class MergedDocument(yaml.Document):
    """An application file of which some sections come from policies beside it."""

    policies: yaml.Document
    sections: tuple[yaml.Path, ...]
    #: Overrides of the policies; those of the file come after them.
    overrides: int = 0

    def where(self, path: yaml.Path = ()) -> errors.Location:
        """Return the place of `path`, in the policies if it came from them."""
        if path[: len(_OVERRIDES)] == _OVERRIDES and len(path) > len(_OVERRIDES):
            place, rest = int(path[len(_OVERRIDES)]), path[len(_OVERRIDES) + 1 :]
            if place < self.overrides:
                return self.policies.where(path)
            return super(MergedDocument, self).where((*_OVERRIDES, place - self.overrides, *rest))
        taken = any(path[: len(section)] == section for section in self.sections)
        return self.policies.where(path) if taken else super(MergedDocument, self).where(path)


def merged(
    document: yaml.Document, policy_document: yaml.Document, own: OwnSections
) -> yaml.Document:
    """Return the document of an application file with the sections that policies give it."""
    written = policy_document.value.get("spec", {})
    placed = written.get("placement", {})
    taken: tuple[tuple[bool, yaml.Path], ...] = (
        (not own.has_targets and "targets" in written, ("spec", "targets")),
        (not own.has_replicas and "replicas" in placed, ("spec", "placement", "replicas")),
        (not own.has_spread and "spread" in placed, ("spec", "placement", "spread")),
        (not own.has_failover and "failover" in placed, ("spec", "placement", "failover")),
        ("tolerations" in placed, ("spec", "placement", "tolerations")),
    )
    sections = tuple(path for is_theirs, path in taken if is_theirs)
    count = len(placed.get("overrides", ()))
    return MergedDocument(
        document.value,
        document.file,
        document.line,
        document.mark,
        policy_document,
        sections,
        count,
    )


def own_sections(document: yaml.Document) -> OwnSections:
    """Return what an application file says itself."""
    spec = document.value.get("spec") if isinstance(document.value, dict) else None
    spec = spec if isinstance(spec, dict) else {}
    placed = spec.get("placement")
    given = spec.get("input")
    given = given if isinstance(given, dict) else {}
    return OwnSections(
        document.file,
        has_targets=bool(spec.get("targets")),
        has_replicas=_has(placed, "replicas"),
        has_spread=_has(placed, "spread"),
        has_failover=_has(placed, "failover"),
        has_input=any(given.get(key) for key in ("manifests", "helmChart", "multiTargets")),
    )


def _has(section: object, key: str) -> bool:
    return isinstance(section, dict) and bool(section.get(key))
