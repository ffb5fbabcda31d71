"""What the objects of each variant are called in queries: workload, Service, Ingress, route."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from volary.manifests.services import backends, service_targets, services
from volary.manifests.workloads import workloads
from volary.model import applications, routing_options
from volary.model.objects import manifest
from volary.model.pipeline import variant

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
    #: Of variants whose workloads are not named after primary's.
    workloads: dict[variant.Variant, str] = field(default_factory=dict)
    #: The same for Services.
    services: dict[variant.Variant, str] = field(default_factory=dict)

    def workload_of(self, which: variant.Variant) -> str:
        """Return the workload of a variant."""
        return self.workloads.get(which) or self._of(self.workload, which)

    def service_of(self, which: variant.Variant, given: routing_options.VariantServices) -> str:
        """Return the Service that leads to a variant."""
        own = str(getattr(given, which.value)) or self.services.get(which, "")
        return own or self._of(self.service, which)

    def _of(self, name: str, which: variant.Variant) -> str:
        suffix = self.suffixes.get(which, "")
        return f"{name}-{suffix}" if name and suffix else name


def find(
    application: applications.Application,
    manifests: Sequence[manifest.Manifest],
    *,
    namespace: str,
    running: Sequence[manifest.Manifest] = (),
) -> Names:
    """Return the names of an application whose new version has these `manifests` on a cluster.

    `namespace` is the cluster's, where manifests name none; `running` are the manifests of the
    running version where a Service is rolled out: its workloads have names of their own.
    """
    carriers = workloads.find(manifests, application.workloads)
    rendered_services = services.find(manifests, application.service)
    home = application.input.namespace or (carriers[0].namespace if carriers else "")
    own = _workloads_behind_services(application, manifests, running)
    return Names(
        namespace=home or namespace,
        workload=own.get(variant.Variant.PRIMARY) or (carriers[0].name if carriers else ""),
        service=rendered_services[0].name if rendered_services else application.service.name,
        ingress=_first(manifests, ("Ingress",)),
        route=_first(manifests, _ROUTES),
        suffixes={
            which: backends.suffix(application, which)
            for which in (variant.Variant.CANARY, variant.Variant.BASELINE)
        },
        workloads=own,
        services=_services(application),
    )


def _workloads_behind_services(
    application: applications.Application,
    manifests: Sequence[manifest.Manifest],
    running: Sequence[manifest.Manifest],
) -> dict[variant.Variant, str]:
    """Return the workloads that a Service, rolled out itself, leads to in each version."""
    if not application.rolls_out_service:
        return {}
    sources = {variant.Variant.PRIMARY: running, variant.Variant.CANARY: manifests}
    names_by_variant = {
        which: service_targets.workload_name_pattern(source, application)
        for which, source in sources.items()
    }
    return {which: names for which, names in names_by_variant.items() if names}


def _services(application: applications.Application) -> dict[variant.Variant, str]:
    if not application.rolls_out_service:
        return {}
    known = backends.of(application)
    return {which: known.name(which) for which in variant.Variant}


def _first(manifests: Sequence[manifest.Manifest], kinds: Sequence[str]) -> str:
    return next((manifest.name for manifest in manifests if manifest.kind in kinds), "")
