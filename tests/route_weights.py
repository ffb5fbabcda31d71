"""Whether what a stored route sends where adds up, for each kind of route."""

import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

Body = Mapping[str, Any]
ALL = 100
_QUANTITY = re.compile(r"(\d+)(m?)")
_CANARY_WEIGHT = "nginx.ingress.kubernetes.io/canary-weight"


def wrong(body: Body, before: Body | None, application: str) -> list[str]:
    """What is not right about the weights of a route that was just stored; nothing when all is.

    Among several destinations of the application's own they are percentages, so 100 together.
    What a route gives to others beside them stays the part that it was `before`.
    """
    look = _LOOKS.get(str(body.get("kind")))
    return look(body, before, application) if look else []


def _virtual_service(body: Body, _before: Body | None, _application: str) -> list[str]:
    found = []
    for place, route in enumerate(body["spec"].get("http") or ()):
        weights = [int(each.get("weight") or 0) for each in route.get("route") or ()]
        title = f"route {route.get('name') or place}"
        # Istio: a single destination needs no weight.
        if weights and not (len(weights) == 1 and weights[0] in (0, ALL)) and sum(weights) != ALL:
            found.append(f"weights of {title} add up to {sum(weights)}: {weights}")
    return found


def _route(body: Body, before: Body | None, application: str) -> list[str]:
    """HTTPRoute and GRPCRoute."""
    earlier = (before or {}).get("spec", {}).get("rules") or ()
    found = []
    for place, rule in enumerate(body["spec"].get("rules") or ()):
        old = _backends(earlier[place]) if place < len(earlier) else []
        found += _relative(
            f"rule {rule.get('name') or place}", _backends(rule), old, application, whole=ALL
        )
    return found


def _backends(rule: Body) -> list[tuple[str, Fraction]]:
    return [
        (str(each.get("name")), Fraction(each.get("weight", 1)))
        for each in rule.get("backendRefs") or ()
    ]


def _traffic_split(body: Body, before: Body | None, application: str) -> list[str]:
    quantities = str(body.get("apiVersion", "")).endswith("/v1alpha1")
    return _relative(
        "the split",
        _split(body),
        _split(before or {}),
        application,
        # As quantities, they are parts of one; the sandbox may hand them out in any version.
        whole=1 if quantities else ALL,
        others=(1, ALL),
    )


def _split(body: Body) -> list[tuple[str, Fraction]]:
    return [
        (str(each.get("service")), _quantity(each.get("weight")))
        for each in body.get("spec", {}).get("backends") or ()
    ]


def _quantity(told: object) -> Fraction:
    """An integer, or in v1alpha1 a quantity: ``500m`` is a half."""
    read = _QUANTITY.fullmatch(str(told or 0))
    return Fraction(int(read[1]), 1000 if read[2] else 1) if read else Fraction(0)


def _traefik_service(body: Body, before: Body | None, application: str) -> list[str]:
    return _relative(
        "the service", _services(body), _services(before or {}), application, whole=ALL
    )


def _services(body: Body) -> list[tuple[str, Fraction]]:
    weighted = body.get("spec", {}).get("weighted") or {}
    return [
        (str(each.get("name")), Fraction(each.get("weight", 1)))
        for each in weighted.get("services") or ()
    ]


def _ingress(body: Body, _before: Body | None, _application: str) -> list[str]:
    """The Ingress beside the main one says canary's percentage; primary gets the rest."""
    told = (body["metadata"].get("annotations") or {}).get(_CANARY_WEIGHT)
    if told is None or (str(told).isdigit() and int(told) <= ALL):
        return []
    return [f"canary's weight is {told}"]


def _relative(
    title: str,
    now: Sequence[tuple[str, Fraction]],
    before: Sequence[tuple[str, Fraction]],
    application: str,
    *,
    whole: int,
    others: tuple[int, ...] = (),
) -> list[str]:
    """Look at weights that count by their proportion to each other."""
    ours = [weight for name, weight in now if _is_own(name, application)]
    total = sum(weight for _, weight in now)
    if not ours:
        return []
    if not sum(ours):
        return [f"{title} sends nothing to {application}"]
    if len(ours) == len(now):
        if len(ours) == 1 or sum(ours) in (whole, *others):
            return []
        return [f"weights of {title} add up to {sum(ours)}: {[str(each) for each in ours]}"]
    old = [weight for name, weight in before if _is_own(name, application)]
    old_total = sum(weight for _, weight in before)
    if not sum(old) or sum(ours) * old_total == sum(old) * total:
        return []
    return [
        f"{title} sends {sum(ours) / total} of all to {application}, not {sum(old) / old_total}"
    ]


def _is_own(name: str, application: str) -> bool:
    """The Services of variants are named after the application's own."""
    return name == application or name.startswith(f"{application}-")


_LOOKS: Mapping[str, Callable[[Body, Body | None, str], list[str]]] = {
    "VirtualService": _virtual_service,
    "HTTPRoute": _route,
    "GRPCRoute": _route,
    "TrafficSplit": _traffic_split,
    "TraefikService": _traefik_service,
    "Ingress": _ingress,
}
KINDS = tuple(_LOOKS)
