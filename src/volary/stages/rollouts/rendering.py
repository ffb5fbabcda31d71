"""What a stage applies to a target, as a list of manifests: pure.

Stages apply exactly this, and ``volary render`` prints exactly this.
"""

from collections.abc import Sequence

from volary.manifests.loading import apply_order
from volary.manifests.ownership import tracking
from volary.manifests.services import service_targets, services
from volary.manifests.variants import variants
from volary.model import applications, errors
from volary.model.objects import manifest
from volary.model.pipeline import variant
from volary.model.pipeline.stage_kinds import rollout_stages, stage_kind, traffic_stages

#: Suffix of the Service that leads to canary before a switch.
_PREVIEW = "preview"


def primary(
    manifests: Sequence[manifest.Manifest],
    application: applications.Application,
    options: rollout_stages.SyncOptions | rollout_stages.PrimaryRolloutOptions,
    *,
    commit: str,
) -> list[manifest.Manifest]:
    """Return what a sync or a primary rollout applies, in the order of applying.

    Raises:
        UserError: when there is nothing to apply, or the manifests do not allow it.
    """
    _check_some(manifests)
    return _marked(
        variants.primary(manifests, application, options),
        application,
        variant.Variant.PRIMARY,
        commit,
    )


def canary(
    manifests: Sequence[manifest.Manifest],
    application: applications.Application,
    options: rollout_stages.VariantRolloutOptions,
    *,
    commit: str,
    running: Sequence[manifest.Manifest] = (),
) -> list[manifest.Manifest]:
    """Return what a canary rollout applies; `manifests` are the target source's.

    Where a Service is rolled out, the pods come too that it leads to and that are not among
    those of `running`. They are marked as canary's, so that they go with it, and are primary's
    once they are promoted.
    """
    _check_some(manifests)
    copies = variants.canary(manifests, application, options)
    if application.rolls_out_service:
        whole = variants.primary(manifests, application, application.quick_sync)
        copies += service_targets.dependencies(whole, running, application)
    return _marked(copies, application, variant.Variant.CANARY, commit)


def baseline(
    manifests: Sequence[manifest.Manifest],
    application: applications.Application,
    options: rollout_stages.VariantRolloutOptions,
    *,
    commit: str,
) -> list[manifest.Manifest]:
    """Return what a baseline rollout applies; `manifests` and `commit` are the running source's."""
    _check_some(manifests)
    copies = variants.baseline(manifests, application, options)
    return _marked(copies, application, variant.Variant.BASELINE, commit)


def preview(
    manifests: Sequence[manifest.Manifest],
    application: applications.Application,
    options: traffic_stages.BlueGreenOptions,
    *,
    commit: str,
) -> list[manifest.Manifest]:
    """Return the Service that leads to canary before the switch; it goes with canary.

    Raises:
        UserError: when there is no Service to copy, or its name is taken.
    """
    if not options.preview:
        return []
    matching_services = services.find(manifests, application.service)
    if not matching_services:
        raise errors.user_error(
            "there is no Service that a preview could be a copy of",
            hint="add one, name it under service.name, or write preview: false",
        )
    label = application.variant_label
    if application.rolls_out_service:
        copy = services.duplicate(matching_services[0], suffix=_PREVIEW)
    else:
        copy = services.variant(
            matching_services[0], suffix=_PREVIEW, key=label.key, value=label.canary_value
        )
    if options.preview_service:
        copy = copy.with_metadata({"name": options.preview_service})
    variants.check_free([copy], manifests)
    return _marked([copy], application, variant.Variant.CANARY, commit)


def of_variant(
    wanted: variant.Variant,
    manifests: Sequence[manifest.Manifest],
    application: applications.Application,
    options: stage_kind.StageOptions | None = None,
    *,
    commit: str,
) -> list[manifest.Manifest]:
    """Return what is applied for a variant; options of other stages count as none.

    Without options primary is what a quick sync applies, canary and baseline what
    their stages apply by default.
    """
    if wanted is variant.Variant.PRIMARY:
        if isinstance(options, rollout_stages.SyncOptions | rollout_stages.PrimaryRolloutOptions):
            return primary(manifests, application, options, commit=commit)
        return primary(manifests, application, application.quick_sync, commit=commit)
    if not isinstance(options, rollout_stages.VariantRolloutOptions):
        options = rollout_stages.VariantRolloutOptions()
    make = canary if wanted is variant.Variant.CANARY else baseline
    return make(manifests, application, options, commit=commit)


def _check_some(manifests: Sequence[manifest.Manifest]) -> None:
    if not manifests:
        raise errors.user_error(
            "this application has no Kubernetes manifests to handle",
            hint="check input.manifests and the application's directory",
        )


def _marked(
    manifests: Sequence[manifest.Manifest],
    application: applications.Application,
    of: variant.Variant,
    commit: str,
) -> list[manifest.Manifest]:
    return apply_order.sort(
        [
            tracking.track(
                item,
                owner=application.owner,
                commit=commit,
                variant=of,
                label=application.variant_label,
            )
            for item in manifests
        ]
    )
