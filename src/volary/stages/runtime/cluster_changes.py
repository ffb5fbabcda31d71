"""What a stage changes on its cluster: sets that it applies, and objects that it deletes.

All of it is noted in the stage's `Work`, and what is applied is in the inventory before it is
written.
"""

import functools
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from volary.clusters.apply import applier, apply_errors, deletions
from volary.clusters.inventory import owned_objects, pruning
from volary.model.objects import apply_results, manifest
from volary.model.pipeline import variant
from volary.stages.runtime import execution, inventory_records

#: How long a new kind may take to be served, or an object that is replaced to go.
_PATIENCE = timedelta(minutes=5)


async def apply(
    work: execution.Work, manifests: Sequence[manifest.Manifest], hold: applier.Hold | None = None
) -> apply_results.ChangeSet:
    """Apply a set completely, also when asked to stop on the way; not begun after that.

    What `hold` returns is left out.
    """
    work.check_stop()
    work.context.progress(f"applying {len(manifests)} manifest{'' if len(manifests) == 1 else 's'}")
    # The inventory comes first: a crash must not leave what nobody knows of.
    remembered = await inventory_records.add(work, manifests)
    work.touched = work.touched or work.context.adoption.is_unfinished
    options = replace(
        apply_options(work),
        # Where no inventory says which commit runs, the objects have to.
        marks_commit=not remembered,
        hold=hold,
        before_writing=functools.partial(inventory_records.keep_adopted, work),
    )
    try:
        changes = await applier.SetApply(work.context.client, options).apply(manifests)
    except apply_errors.ApplyError as error:
        work.record(error.changes.changes)
        work.touched = work.touched or error.touched
        raise
    work.record(changes.changes)
    if not remembered and not await inventory_records.add(work, manifests):
        work.caution("the inventory could not be kept; pruning will look at common kinds only")
    return changes


async def preview(
    work: execution.Work, manifests: Sequence[manifest.Manifest]
) -> apply_results.ChangeSet:
    """Return what `apply` would change by now; writes nothing."""
    return await applier.SetApply(work.context.client, apply_options(work)).preview(manifests)


def apply_options(work: execution.Work) -> applier.Options:
    """Return how sets are applied."""
    application = work.context.application
    return applier.Options(
        namespaces=work.context.namespaces,
        create_namespaces=application.input.auto_create_namespace,
        force=work.force,
        owner=application.owner,
        names_others=application.names_others,
        conflicts=application.conflicts,
        commit=work.context.task.commit,
        timeout=min(work.remaining, _PATIENCE),
        label=application.variant_label,
        applied=work.note_applied,
    )


def scope(
    work: execution.Work, *variants: variant.Variant, allow_mass_deletion: bool | None = None
) -> owned_objects.Scope:
    """Return which objects of this application may be considered for deleting."""
    if allow_mass_deletion is None:
        allow_mass_deletion = work.context.options.allow_mass_deletion
    return owned_objects.Scope(
        work.context.application.owner,
        work.context.application.variant_label,
        variants,
        work.context.namespaces,
        allow_mass_deletion,
        tuple(sorted(work.places)),
    )


async def prune_away(
    work: execution.Work,
    desired: Sequence[manifest.Manifest],
    within: owned_objects.Scope,
    check: deletions.KeepCheck = pruning.keep_nothing,
) -> pruning.PruneResult:
    """Delete what is live and not in `desired`, on evidence only; wait until it is gone.

    Raises:
        StageFailedError: when something that should have gone has not.
    """
    result = await pruning.prune(
        work.context.client,
        desired,
        within,
        timeout=work.remaining,
        check=check,
        followed=functools.partial(_settle, work),
        waiting=work.context.progress,
        deleting=work.begin_writing,
    )
    record_removal(work, result)
    return result


async def _settle(work: execution.Work) -> None:
    """Wait until proxies have followed routes that were deleted just now, or to stop."""
    work.context.propagation.note()
    await work.settle()


async def remove_brought(work: execution.Work, check: deletions.KeepCheck) -> pruning.PruneResult:
    """Delete every object of the application that `check` does not keep.

    Raises:
        StageFailedError: when something that should have gone has not.
    """
    result = await pruning.delete_all(
        work.context.client,
        scope(work),
        timeout=work.remaining,
        check=check,
        waiting=work.context.progress,
        deleting=work.begin_writing,
    )
    record_removal(work, result)
    return result


def record_removal(work: execution.Work, result: pruning.PruneResult) -> None:
    """Remember what a prune or a clean-up did.

    Raises:
        StageFailedError: when something that should have gone has not.
    """
    work.record(result.changes)
    for warning in result.warnings:
        work.caution(warning)
    if result.refusal:
        work.caution(result.refusal)
        work.exceptions.append(result.refusal)
    for failure in result.failures:
        work.caution(failure)
    if result.failures:
        raise execution.StageFailedError(result.failures[0])
