"""The Services that lead to one variant each, by name.

Routers that choose by Service need them: Gateway API, SMI, NGINX, Traefik. Names come from
``trafficRouting.services``; else the copies that rollouts make are meant, with their suffix.
"""

from dataclasses import dataclass

from volary.model import applications, errors
from volary.model.pipeline import variant as pipeline_variant
from volary.model.pipeline.stage_kinds import rollout_stages

_Variant = pipeline_variant.Variant


@dataclass(frozen=True, slots=True)
class Backends:
    """Which Service stands for which variant."""

    primary: str
    canary: str
    baseline: str
    #: Other names under which routes may lead to primary.
    aliases: frozenset[str] = frozenset()

    def name(self, which: pipeline_variant.Variant) -> str:
        """Return the Service of a variant."""
        return {
            _Variant.PRIMARY: self.primary,
            _Variant.CANARY: self.canary,
            _Variant.BASELINE: self.baseline,
        }[which]

    def variant(self, name: str) -> pipeline_variant.Variant | None:
        """Return the variant that a Service stands for; None for anybody else's."""
        for variant in (_Variant.CANARY, _Variant.BASELINE, _Variant.PRIMARY):
            if name and name == self.name(variant):
                return variant
        return _Variant.PRIMARY if name in self.aliases else None


def of(app: applications.Application) -> Backends:
    """Return the Services of the application's variants.

    Primary's is the Service in Git, or its copy where the rollout of primary or
    ``trafficRouting.create`` makes one.

    Raises:
        UserError: when neither ``service.name`` nor the names themselves are given.
    """
    given, name = app.traffic_routing.services, app.service.name
    if not name and not (given.primary and given.canary):
        raise errors.user_error(
            "the Services whose traffic is to be divided are not known",
            hint="set service.name, or trafficRouting.services",
        )
    copy = f"{name}-{suffix(app, _Variant.PRIMARY)}"
    usual = copy if _copies_primary(app) else name
    return Backends(
        given.primary or usual,
        given.canary or f"{name}-{suffix(app, _Variant.CANARY)}",
        given.baseline or (f"{name}-{suffix(app, _Variant.BASELINE)}" if name else ""),
        frozenset({name, copy} - {""}) if name else frozenset(),
    )


def suffix(app: applications.Application, which: pipeline_variant.Variant) -> str:
    """Return what a variant's copies have behind their names: as its stage says."""
    return _options_suffix(app, which) or app.variant_label.value(which)


def _options_suffix(app: applications.Application, which: pipeline_variant.Variant) -> str:
    for stage in app.pipeline:
        if stage.kind.applies is which and isinstance(
            stage.options,
            rollout_stages.PrimaryRolloutOptions | rollout_stages.VariantRolloutOptions,
        ):
            return stage.options.suffix
    return ""


def _copies_primary(app: applications.Application) -> bool:
    if app.traffic_routing.create or app.rolls_out_service:
        return True
    return any(
        isinstance(stage.options, rollout_stages.PrimaryRolloutOptions)
        and stage.options.create_service
        for stage in app.pipeline
    )
