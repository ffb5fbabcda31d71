"""Choosing the object that carries the routes."""

from collections.abc import Iterable, Sequence

from volary.manifests import objects
from volary.manifests.services import services
from volary.model import applications, errors, routing_options
from volary.model.objects import manifest


def of_kind(
    manifests: Iterable[manifest.Manifest], group: str, kinds: Sequence[str]
) -> list[manifest.Manifest]:
    """Return the manifests of a group and some of its kinds."""
    return [item for item in manifests if item.group == group and item.kind in kinds]


def only(
    candidates: Sequence[manifest.Manifest],
    reference: routing_options.ObjectReference,
    title: str,
    *,
    option: str = "trafficRouting",
    otherwise: str = "set trafficRouting.create: true",
) -> manifest.Manifest:
    """Return the one manifest that fits a reference, which users write in `option`.

    Raises:
        UserError: when there is none or more than one.
    """
    fitting = [
        item
        for item in candidates
        if reference.name in ("", item.name) and reference.kind in ("", item.kind)
    ]
    if not fitting:
        named = f" named {reference.name}" if reference.name else ""
        raise errors.user_error(
            f"there is no {title} among the manifests{named}",
            hint=f"add one, or {otherwise}",
        )
    if len(fitting) > 1:
        names = ", ".join(f"{item.kind} {item.name}" for item in fitting)
        raise errors.user_error(
            f"{len(fitting)} objects could carry the routes: {names}",
            hint=f"name one of them under {option}",
            where=fitting[1].origin,
        )
    return fitting[0]


def check_primary(
    manifests: Sequence[manifest.Manifest], application: applications.Application, name: str
) -> None:
    """Refuse a Service for primary that leads to the pods of other variants too.

    Raises:
        UserError: when the manifests have the Service, and its selector does not say primary.
    """
    label = application.variant_label
    for item in services.find(manifests, routing_options.ObjectReference(name=name)):
        if objects.text(item.body, "spec", "selector", label.key) != label.primary_value:
            raise errors.user_error(
                f"Service {name} leads to the pods of every variant, so the route cannot choose"
                " primary by it",
                hint=f"write `{label.key}: {label.primary_value}` into its selector and into"
                " primary's pods, or set trafficRouting.create: true",
                where=item.origin,
            )
