"""What a stage applies to a target, as a list of manifests: pure.

Stages apply exactly this, and ``volary render`` prints exactly this.
"""

from collections.abc import Sequence
from typing import assert_never

from volary.manifests import order, service_targets, services, tracking, variants
from volary.model import application as applications
from volary.model import errors, manifest, stage, variant

#: Suffix of the Service that leads to canary before a switch.
_PREVIEW = "preview"


def primary(
    manifests: Sequence[manifest.Manifest],
    application: applications.Application,
    options: stage.SyncOptions | stage.PrimaryRolloutOptions,
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
    options: stage.VariantRolloutOptions,
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
    if service_targets.is_target(application):
        whole = variants.primary(manifests, application, application.quick_sync)
        copies += service_targets.brought(whole, running, application)
    return _marked(copies, application, variant.Variant.CANARY, commit)


def baseline(
    manifests: Sequence[manifest.Manifest],
    application: applications.Application,
    options: stage.VariantRolloutOptions,
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
    options: stage.BlueGreenOptions,
    *,
    commit: str,
) -> list[manifest.Manifest]:
    """Return the Service that leads to canary before the switch; it goes with canary.

    Raises:
        UserError: when there is no Service to copy, or its name is taken.
    """
    if not options.preview:
        return []
    found = services.find(manifests, application.service)
    if not found:
        raise errors.user_error(
            "there is no Service that a preview could be a copy of",
            hint="add one, name it under service.name, or write preview: false",
        )
    label = application.variant_label
    if service_targets.is_target(application):
        copy = services.duplicate(found[0], suffix=_PREVIEW)
    else:
        copy = services.variant(found[0], suffix=_PREVIEW, key=label.key, value=label.canary_value)
    if options.preview_service:
        metadata = {**copy.metadata, "name": options.preview_service}
        copy = copy.with_body({**copy.body, "metadata": metadata})
    variants.check_free([copy], manifests)
    return _marked([copy], application, variant.Variant.CANARY, commit)


def of_variant(
    wanted: variant.Variant,
    manifests: Sequence[manifest.Manifest],
    application: applications.Application,
    options: stage.StageOptions | None = None,
    *,
    commit: str,
) -> list[manifest.Manifest]:
    """Return what is applied for a variant; options of other stages count as none.

    Without options primary is what a quick sync applies, canary and baseline what
    their stages apply by default.
    """
    copied = options if isinstance(options, stage.VariantRolloutOptions) else None
    match wanted:
        case variant.Variant.PRIMARY:
            own = (
                options
                if isinstance(options, stage.SyncOptions | stage.PrimaryRolloutOptions)
                else application.quick_sync
            )
            return primary(manifests, application, own, commit=commit)
        case variant.Variant.CANARY:
            copied = copied or stage.VariantRolloutOptions()
            return canary(manifests, application, copied, commit=commit)
        case variant.Variant.BASELINE:
            copied = copied or stage.VariantRolloutOptions()
            return baseline(manifests, application, copied, commit=commit)
        case _:
            assert_never(wanted)


def variant_of(name: stage.StageName) -> variant.Variant | None:
    """Return the variant that a stage applies; None when it applies none."""
    match name:
        case (
            stage.StageName.SYNC
            | stage.StageName.PRIMARY_ROLLOUT
            | stage.StageName.ROLLBACK
            | stage.StageName.PLACEMENT_SYNC
        ):
            return variant.Variant.PRIMARY
        case stage.StageName.CANARY_ROLLOUT:
            return variant.Variant.CANARY
        case stage.StageName.BASELINE_ROLLOUT:
            return variant.Variant.BASELINE
        case (
            stage.StageName.CANARY_CLEAN
            | stage.StageName.BASELINE_CLEAN
            | stage.StageName.TRAFFIC_ROUTING
            | stage.StageName.PROGRESSIVE_TRAFFIC
            | stage.StageName.BLUE_GREEN
            | stage.StageName.WEBHOOK_GATE
            | stage.StageName.SCRIPT_RUN
            | stage.StageName.WAIT
            | stage.StageName.WAIT_APPROVAL
            | stage.StageName.ANALYSIS
            | stage.StageName.WAVE_GATE
            | stage.StageName.PLACEMENT_REMOVE
        ):
            return None
        case _:
            assert_never(name)


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
    marked = tracking.mark_all(
        manifests,
        application=application.name,
        commit=commit,
        variant=of,
        label=application.variant_label,
    )
    return order.sort(marked)
