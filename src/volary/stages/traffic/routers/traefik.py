"""Traffic by weight, in the services of a weighted TraefikService.

Users point an IngressRoute at it with ``kind: TraefikService``.
"""

from volary.manifests import objects
from volary.model import json
from volary.stages.traffic.routers import entries, listed

#: The second is that of Traefik before version 3.
GROUPS, KIND = ("traefik.io", "traefik.containo.us"), "TraefikService"


def _name(entry: json.JsonObject) -> str:
    is_service = objects.text(entry, "kind") in ("", "Service")
    return objects.text(entry, "name") if is_service else ""


def _made(entry: json.JsonObject, name: str, weight: int) -> json.JsonObject:
    return {**entry, **({"name": name} if name else {}), "weight": weight}


_ENTRIES = entries.Kind(_name, lambda entry: objects.number(entry, "weight", default=1), _made)

ROUTER = listed.Listed(
    groups=GROUPS,
    kind=KIND,
    path=("spec", "weighted", "services"),
    reference=lambda routing: routing.traefik.service,
    entry=lambda _version: _ENTRIES,
)
