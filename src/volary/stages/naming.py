"""What the objects of each variant are called in queries: workload, Service, Ingress, route."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from volary.manifests import services, workloads
from volary.model import application as applications
from volary.model import manifest, stage, variant

_ROLLOUTS = {
    variant.Variant.CANARY: stage.StageName.CANARY_ROLLOUT,
    variant.Variant.BASELINE: stage.StageName.BASELINE_ROLLOUT,
}
_ROUTES = ("HTTPRoute", "GRPCRoute", "VirtualService", "TrafficSplit", "TraefikService")


@dataclass(frozen=True, slots=True)
class Names:
    """Names on one cluster; what is not there is empty."""

    namespace: str = ""
    #: Of primary.
    workload: str = ""
    service: str = ""
    ingress: str = ""
    route: str = ""
    #: What is appended for the other variants.
    suffixes: dict[variant.Variant, str] = field(default_factory=dict)

    def workload_of(self, which: variant.Variant) -> str:
        """Return the workload of a variant."""
        return self._of(self.workload, which)

    def service_of(self, which: variant.Variant, given: applications.VariantServices) -> str:
        """Return the Service that leads to a variant."""
        return str(getattr(given, which.value)) or self._of(self.service, which)

    def _of(self, name: str, which: variant.Variant) -> str:
        suffix = self.suffixes.get(which, "")
        return f"{name}-{suffix}" if name and suffix else name


def find(
    application: applications.Application,
    manifests: Sequence[manifest.Manifest],
    *,
    namespace: str,
) -> Names:
    """Return the names of an application as it is rendered for a cluster.

    Args:
        application: Whose names.
        manifests: Of the new version.
        namespace: Of the cluster, where manifests name none.
    """
    carriers = workloads.find(manifests, application.workloads)
    found = services.find(manifests, application.service)
    home = application.input.namespace or (carriers[0].namespace if carriers else "")
    return Names(
        namespace=home or namespace,
        workload=carriers[0].name if carriers else "",
        service=found[0].name if found else application.service.name,
        ingress=_first(manifests, ("Ingress",)),
        route=_first(manifests, _ROUTES),
        suffixes={which: _suffix(application, which) for which in _ROLLOUTS},
    )


def _first(manifests: Sequence[manifest.Manifest], kinds: Sequence[str]) -> str:
    return next((each.name for each in manifests if each.kind in kinds), "")


def _suffix(application: applications.Application, which: variant.Variant) -> str:
    found = (
        each.options.suffix
        for each in application.pipeline
        if each.name is _ROLLOUTS[which] and isinstance(each.options, stage.VariantRolloutOptions)
    )
    return next(filter(None, found), "") or application.variant_label.value(which)
