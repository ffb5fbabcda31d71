"""Traffic by weight, in the backends of an SMI TrafficSplit (v1alpha1 to v1alpha4).

Linkerd's SMI extension and other meshes divide the requests to the root Service.
"""

from collections.abc import Mapping, Sequence

from volary.manifests import backends, objects, quantities
from volary.model import application as applications
from volary.model import errors, json, manifest, variant
from volary.stages.routing import division, entries, finding, weights

GROUP, KIND = "split.smi-spec.io", "TrafficSplit"
_OLDEST = f"{GROUP}/v1alpha1"


def maker() -> variant.Variant:
    """Return the variant with whose manifests the TrafficSplit comes."""
    return variant.Variant.PRIMARY


def find(
    manifests: Sequence[manifest.Manifest], application: applications.Application
) -> manifest.Manifest:
    """Return the TrafficSplit that carries the routes.

    Raises:
        UserError: when there is none or more than one.
    """
    known = backends.of(application)
    return finding.only(
        [
            item
            for item in finding.of_kind(manifests, GROUP, (KIND,))
            if _entries(item.body, known).is_ours
        ],
        application.traffic_routing.smi.traffic_split,
        f"{KIND} with a backend {known.primary}",
    )


def check(wanted: division.Division, application: applications.Application) -> None:
    """Refuse what a TrafficSplit cannot say."""
    finding.refuse(wanted, application)


def routed(
    item: manifest.Manifest,
    wanted: division.Division,
    application: applications.Application,
) -> weights.Change:
    """Return the TrafficSplit with the weights of `wanted`."""
    found = _entries(item.body, backends.of(application))
    if not found.is_ours:
        raise errors.user_error(
            f"{KIND} {item.name} has no backend {found.known.primary}",
            hint="add it to spec.backends",
            where=item.origin,
        )
    line = f"{KIND} {item.name}: {weights.title(wanted.shares)}"
    return weights.Change(_with(item, found.divided(wanted.shares)), (line,))


def drained(
    live: manifest.Manifest,
    leaving: variant.Variant,
    application: applications.Application,
) -> weights.Change:
    """Return the live TrafficSplit with the share of `leaving` given to primary."""
    found = _entries(live.body, backends.of(application))
    share = found.shares.get(leaving)
    if not share:
        return weights.Change(live, ())
    line = f"{KIND} {live.name}: {share} % moved from {leaving.value} to primary"
    return weights.Change(_with(live, found.divided(entries.moved(found.shares, leaving))), (line,))


def held(
    item: manifest.Manifest, live: json.JsonObject, application: applications.Application
) -> manifest.Manifest:
    """Return Git's TrafficSplit with the live backends while a variant gets traffic by them."""
    away = weights.receiving(read(live, application)) - {variant.Variant.PRIMARY}
    return _with(item, objects.sequence(live, "spec", "backends")) if away else item


def fields(body: json.JsonObject) -> json.JsonObject:
    """Return the backends, all that the routing's manager owns."""
    return {"spec": {"backends": objects.sequence(body, "spec", "backends")}}


def read(
    body: json.JsonObject, application: applications.Application
) -> tuple[weights.RouteWeights, ...]:
    """Return what the TrafficSplit sends to the variants."""
    return (weights.RouteWeights("", True, _entries(body, backends.of(application)).shares),)


def services(
    body: json.JsonObject, application: applications.Application
) -> Mapping[variant.Variant, str]:
    """Return the backends of the variants."""
    return _entries(body, backends.of(application)).services


def waiting(_body: json.JsonObject) -> str:
    """Return nothing: a TrafficSplit has no status."""
    return ""


def _entries(body: json.JsonObject, known: backends.Backends) -> entries.Entries:
    found = list(objects.mappings(body, "spec", "backends"))
    kind = _QUANTITIES if body.get("apiVersion") == _OLDEST else _NUMBERS
    return entries.Entries(found, known, kind)


def _with(item: manifest.Manifest, found: Sequence[json.JsonObject]) -> manifest.Manifest:
    spec = {**objects.mapping(item.body, "spec"), "backends": list(found)}
    return item.with_body({**item.body, "spec": spec})


def _name(entry: json.JsonObject) -> str:
    return objects.text(entry, "service")


def _made(entry: json.JsonObject, name: str, weight: int) -> json.JsonObject:
    return {**entry, "service": name or _name(entry), "weight": weight}


def _thousandths(entry: json.JsonObject) -> int:
    """Return a quantity (``900m``, ``1``) in thousandths."""
    value = quantities.parse(entry.get("weight"))
    return int(value * _UNIT) if value is not None else 0


def _made_quantity(entry: json.JsonObject, name: str, weight: int) -> json.JsonObject:
    whole, rest = divmod(weight, _UNIT)
    return {
        **entry,
        "service": name or _name(entry),
        "weight": f"{weight}m" if rest else str(whole),
    }


_UNIT = 1000
_NUMBERS = entries.Kind(_name, lambda entry: objects.number(entry, "weight"), _made)
_QUANTITIES = entries.Kind(_name, _thousandths, _made_quantity, _UNIT)
