"""Traffic by weight, in the backends of an SMI TrafficSplit (v1alpha1 to v1alpha4).

Linkerd's SMI extension and other meshes divide the requests to the root Service.
"""

from volary.manifests import objects
from volary.manifests.workloads import quantities
from volary.model import json, routing_options
from volary.stages.traffic.routers import entries, listed

GROUP, KIND = "split.smi-spec.io", "TrafficSplit"
_OLDEST = f"{GROUP}/v1alpha1"
#: Quantities are counted in thousandths: ``900m``, ``1``.
_UNIT = 1000


def _name(entry: json.JsonObject) -> str:
    return objects.text(entry, "service")


def _made(entry: json.JsonObject, name: str, weight: int) -> json.JsonObject:
    return {**entry, "service": name or _name(entry), "weight": weight}


def _thousandths(entry: json.JsonObject) -> int:
    value = quantities.parse(entry.get("weight"))
    return int(value * _UNIT) if value is not None else 0


def _made_quantity(entry: json.JsonObject, name: str, weight: int) -> json.JsonObject:
    whole, rest = divmod(weight, _UNIT)
    return {**_made(entry, name, weight), "weight": f"{weight}m" if rest else str(whole)}


_NUMBERS = entries.Kind(_name, lambda entry: objects.number(entry, "weight"), _made)
_QUANTITIES = entries.Kind(_name, _thousandths, _made_quantity, _UNIT)


class Smi(listed.Listed):
    """Weights are numbers, and quantities in the oldest version."""

    groups = (GROUP,)
    kind = KIND
    path = ("spec", "backends")

    @property
    def reference(self) -> routing_options.ObjectReference:
        """The TrafficSplit that the application names."""
        return self.application.traffic_routing.smi.traffic_split

    def entry(self, version: str) -> entries.Kind:
        """Return how weights are written."""
        return _QUANTITIES if version == _OLDEST else _NUMBERS
