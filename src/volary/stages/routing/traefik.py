"""Traffic by weight, in the services of a weighted TraefikService.

Users point an IngressRoute at it with ``kind: TraefikService``.
"""

from collections.abc import Mapping, Sequence

from volary.manifests import backends, objects
from volary.model import application as applications
from volary.model import errors, json, manifest, variant
from volary.stages.routing import division, entries, finding, weights

#: The second is that of Traefik before version 3.
GROUPS, KIND = ("traefik.io", "traefik.containo.us"), "TraefikService"


def maker() -> variant.Variant:
    """Return the variant with whose manifests the TraefikService comes."""
    return variant.Variant.PRIMARY


def find(
    manifests: Sequence[manifest.Manifest], application: applications.Application
) -> manifest.Manifest:
    """Return the TraefikService that carries the routes.

    Raises:
        UserError: when there is none or more than one.
    """
    known = backends.of(application)
    return finding.only(
        [
            item
            for group in GROUPS
            for item in finding.of_kind(manifests, group, (KIND,))
            if _entries(item.body, known).is_ours
        ],
        application.traffic_routing.traefik.service,
        f"weighted {KIND} that leads to {known.primary}",
    )


def check(wanted: division.Division, application: applications.Application) -> None:
    """Refuse what a TraefikService cannot say."""
    finding.refuse(wanted, application)


def routed(
    item: manifest.Manifest,
    wanted: division.Division,
    application: applications.Application,
) -> weights.Change:
    """Return the TraefikService with the weights of `wanted`."""
    found = _entries(item.body, backends.of(application))
    if not found.is_ours:
        raise errors.user_error(
            f"{KIND} {item.name} has no service {found.known.primary}",
            hint="add it to spec.weighted.services",
            where=item.origin,
        )
    line = f"{KIND} {item.name}: {weights.title(wanted.shares)}"
    return weights.Change(_with(item, found.divided(wanted.shares)), (line,))


def drained(
    live: manifest.Manifest,
    leaving: variant.Variant,
    application: applications.Application,
) -> weights.Change:
    """Return the live TraefikService with the share of `leaving` given to primary."""
    found = _entries(live.body, backends.of(application))
    share = found.shares.get(leaving)
    if not share:
        return weights.Change(live, ())
    line = f"{KIND} {live.name}: {share} % moved from {leaving.value} to primary"
    return weights.Change(_with(live, found.divided(entries.moved(found.shares, leaving))), (line,))


def held(
    item: manifest.Manifest, live: json.JsonObject, application: applications.Application
) -> manifest.Manifest:
    """Return Git's TraefikService with the live services while a variant gets traffic by them."""
    away = weights.receiving(read(live, application)) - {variant.Variant.PRIMARY}
    return _with(item, objects.sequence(live, "spec", "weighted", "services")) if away else item


def fields(body: json.JsonObject) -> json.JsonObject:
    """Return the weighted services, all that the routing's manager owns."""
    found = objects.sequence(body, "spec", "weighted", "services")
    return {"spec": {"weighted": {"services": found}}}


def read(
    body: json.JsonObject, application: applications.Application
) -> tuple[weights.RouteWeights, ...]:
    """Return what the TraefikService sends to the variants."""
    return (weights.RouteWeights("", True, _entries(body, backends.of(application)).shares),)


def services(
    body: json.JsonObject, application: applications.Application
) -> Mapping[variant.Variant, str]:
    """Return the Services of the variants."""
    return _entries(body, backends.of(application)).services


def waiting(_body: json.JsonObject) -> str:
    """Return nothing: a TraefikService has no status."""
    return ""


def _entries(body: json.JsonObject, known: backends.Backends) -> entries.Entries:
    found = list(objects.mappings(body, "spec", "weighted", "services"))
    return entries.Entries(found, known, _ENTRIES)


def _with(item: manifest.Manifest, found: Sequence[json.JsonObject]) -> manifest.Manifest:
    spec = objects.mapping(item.body, "spec")
    weighted = {**objects.mapping(spec, "weighted"), "services": list(found)}
    return item.with_body({**item.body, "spec": {**spec, "weighted": weighted}})


def _name(entry: json.JsonObject) -> str:
    is_service = objects.text(entry, "kind") in ("", "Service")
    return objects.text(entry, "name") if is_service else ""


def _made(entry: json.JsonObject, name: str, weight: int) -> json.JsonObject:
    return {**entry, **({"name": name} if name else {}), "weight": weight}


_ENTRIES = entries.Kind(_name, lambda entry: objects.number(entry, "weight", default=1), _made)
