"""What may be deleted: nothing on absence of evidence (DESIGN.md, rule 4).

Every function returns its decision with the reason, for each object that was looked
at. The caller reads the cluster before and deletes after, with the object's uid and
resource version as preconditions.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from volary.manifests import objects
from volary.manifests.loading import apply_order, namespace_scopes, object_keys
from volary.manifests.ownership import tracking
from volary.model import json
from volary.model.objects import apply_results, manifest, ownership
from volary.model.pipeline import variant as variant_words

#: The share of its live objects that an application may lose unasked, in percent.
_SHARE = 50
#: Up to this many objects the share does not count: small applications change a lot.
_ALWAYS = 5
_COPIES = (variant_words.Variant.CANARY, variant_words.Variant.BASELINE)


@dataclass(frozen=True, slots=True)
class PruneDecision:
    """The decision: what to delete in which order, what is left and why."""

    delete: tuple[manifest.Manifest, ...] = ()
    skipped: tuple[apply_results.Change, ...] = ()
    #: Not empty: nothing at all may be deleted, and this is why.
    refusal: str = ""
    #: What would go, was it not for the refusal.
    refused: tuple[manifest.Manifest, ...] = ()


def decide_prune(
    desired: Sequence[manifest.Manifest],
    live: Sequence[json.JsonObject],
    *,
    owner: ownership.Owner,
    keep: Callable[[json.JsonObject], str] = lambda _: "",
    allow_mass_deletion: bool = False,
    known: namespace_scopes.Scope | None = None,
    label: variant_words.VariantLabel | None = None,
    variants: Collection[variant_words.Variant] = (),
) -> PruneDecision:
    """Decide which live objects of an application are no longer wanted.

    Both sides must be complete: `desired` rendered, `live` listed just now, without an error.
    `desired` must have its namespaces filled in (`namespace_scopes`). With `variants` only
    their objects are looked at (PipeCD: the primary's rollout prunes the primary). `keep` is a
    further reason for which an object stays.

    Objects that are going already are among those to delete: they are still to be waited for.
    Neither they nor what may never go count for how much may go at once, nor do copies of
    variants, which are made to go again.
    """
    wanted = {object_keys.normalise(item.key, known) for item in desired}
    to_delete: list[manifest.Manifest] = []
    skipped: list[apply_results.Change] = []
    kept_uids = {
        objects.uid(body)
        for body in live
        if object_keys.normalise(object_keys.of(body), known) in wanted
    } - {""}
    label = label or variant_words.VariantLabel()
    values = {label.value(variant) for variant in variants}
    considered = 0
    for body in live:
        if values and objects.text(body, "metadata", "labels", label.key) not in values:
            continue
        reason = unprunable(body, owner) or keep(body)
        considered += not reason and _counts(body, label)
        if object_keys.normalise(object_keys.of(body), known) in wanted:
            continue
        if not reason and objects.uid(body) in kept_uids:
            # One object can be listed under two API groups; the wanted one protects the other.
            reason = "it is a wanted object under another API group"
        if reason:
            skipped.append(_skipped(body, reason))
        else:
            to_delete.append(manifest.Manifest(body))
    to_delete = _without_duplicates(to_delete)
    losing = [item for item in to_delete if _counts(item.body, label)]
    refusal = _refusal(desired, losing, considered, allow_mass_deletion=allow_mass_deletion)
    going = tuple(apply_order.for_deletion(to_delete))
    if refusal:
        return PruneDecision((), tuple(skipped), refusal, going)
    return PruneDecision(going, tuple(skipped))


def unprunable(body: json.JsonObject, owner: ownership.Owner) -> str:
    """Return why an object must not be pruned; empty when it may be.

    PipeCD looks for owner references and the annotation; the label, the application and
    the object's own key are checked as well, so that copies that other programs or people
    made of our objects stay.
    """
    controllers = objects.sequence(body, "metadata", "ownerReferences")
    if controllers:
        kind, name = (objects.text(controllers[0], part) for part in ("kind", "name"))
        return f"it belongs to {kind} {name}"
    if not tracking.is_ours(body, owner):
        return f"it was not applied by Volary for {owner.name}"
    written = objects.text(body, "metadata", "annotations", tracking.RESOURCE_KEY)
    key = object_keys.parse(written)
    if key is None or not object_keys.is_own_key(key, body):
        return f"it is a copy of {written or 'an unknown object'}"
    return ""


def unremovable(
    body: json.JsonObject,
    owner: ownership.Owner,
    label: variant_words.VariantLabel,
    variant: variant_words.Variant,
) -> str:
    """Return why an object must not go with a variant's clean-up; empty when it may.

    The list was asked for by label; this is checked again on each object before its
    delete, and the primary is never cleaned up.
    """
    if variant is variant_words.Variant.PRIMARY:
        return "the primary is never cleaned up"
    label_value = objects.text(body, "metadata", "labels", label.key)
    if label_value != label.value(variant):
        return f"it is of variant {label_value or 'none'}, not {label.value(variant)}"
    return unprunable(body, owner)


def decide_variant_removal(
    live: Sequence[json.JsonObject],
    *,
    owner: ownership.Owner,
    label: variant_words.VariantLabel,
    variant: variant_words.Variant,
) -> PruneDecision:
    """Decide what a variant's clean-up deletes: Services, then workloads, then the rest."""
    to_delete: list[manifest.Manifest] = []
    skipped: list[apply_results.Change] = []
    for body in live:
        reason = unremovable(body, owner, label, variant)
        if reason:
            skipped.append(_skipped(body, reason))
        else:
            to_delete.append(manifest.Manifest(body))
    return PruneDecision(
        tuple(apply_order.for_deletion(_without_duplicates(to_delete))), tuple(skipped)
    )


def _refusal(
    desired: Sequence[manifest.Manifest],
    to_delete: Sequence[manifest.Manifest],
    considered: int,
    *,
    allow_mass_deletion: bool,
) -> str:
    if not desired:
        return "nothing is pruned: the render is empty"
    allowed = max(_ALWAYS, considered * _SHARE // 100)
    if len(to_delete) > allowed and not allow_mass_deletion:
        return (
            f"nothing is pruned: {len(to_delete)} of {considered} objects would be deleted, "
            f"{allowed} are allowed at once (`volary run . --allow-mass-deletion` deletes them)"
        )
    return ""


def _counts(body: json.JsonObject, label: variant_words.VariantLabel) -> bool:
    """Whether losing an object is a loss, for how much may go at once."""
    copies = [label.value(which) for which in _COPIES]
    return (
        not objects.is_terminating(body)
        and objects.text(body, "metadata", "labels", label.key) not in copies
    )


def _skipped(body: json.JsonObject, reason: str) -> apply_results.Change:
    return apply_results.Change(object_keys.of(body), apply_results.Action.SKIPPED, reason)


def _without_duplicates(items: Sequence[manifest.Manifest]) -> list[manifest.Manifest]:
    unique: dict[str | manifest.ResourceKey, manifest.Manifest] = {}
    for item in items:
        unique.setdefault(objects.uid(item.body) or item.key, item)
    return list(unique.values())
