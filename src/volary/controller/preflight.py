"""Before anything is written: would every cluster take all that the run is going to apply?

The manifests of each stage are made and tried on each cluster by server-side dry run, all
clusters at once. What is missing, forbidden, owned by somebody else or cannot be changed
shows here, where no cluster has been touched, and not in one cluster after another has
had its canary. What the stages check again later stays as it is: a cluster may change.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import assert_never

from volary.clusters import apply, pool
from volary.clusters import client as clients
from volary.controller import preparation
from volary.model import change, errors, fleet, manifest, problem, stage, variant
from volary.planner import targets as target_choice
from volary.stages import baseline_rollout, canary_rollout, primary_rollout, rendering

#: How long a cluster may take to say what it serves before it counts as unreachable.
PATIENCE = timedelta(seconds=15)


@dataclass(frozen=True, slots=True)
class Trial:
    """What one cluster answered."""

    target: str
    #: What the last rollout for this cluster would do; of primary, where it is rolled out.
    changes: change.ChangeSet = field(default_factory=change.ChangeSet)
    #: What has to be mended first.
    problems: tuple[problem.Problem, ...] = ()
    #: Why it could not be asked; empty: it could.
    silence: str = ""


async def look(
    prepared: preparation.Prepared, clusters: pool.Pool, *, patience: timedelta = PATIENCE
) -> tuple[Trial, ...]:
    """Try the run on every target at once and return what each says; writes nothing."""
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(_try(prepared, clusters, target, patience))
            for target in prepared.plan.targets
        ]
    return tuple(task.result() for task in tasks)


def problems(trials: Sequence[Trial]) -> tuple[problem.Problem, ...]:
    """Return what has to be mended, what all clusters have in common only once."""
    return tuple(dict.fromkeys(each for trial in trials for each in trial.problems))


def silent(trials: Sequence[Trial]) -> Mapping[str, str]:
    """Return the clusters that could not be asked, with the reason of each."""
    return {each.target: each.silence for each in trials if each.silence}


async def _try(
    prepared: preparation.Prepared, clusters: pool.Pool, target: str, patience: timedelta
) -> Trial:
    try:
        sets = _sets(prepared, target)
    except errors.UserError as error:
        return Trial(target, problems=error.problems)
    client = await clusters.client(target)
    if isinstance(client, pool.Unavailable):
        return Trial(target, problems=client.problems, silence=_unless_problems(client))
    try:
        async with asyncio.timeout(patience.total_seconds()):
            await client.discover()
        return await _preview(client, sets, _options(prepared, clusters.member(target)))
    except TimeoutError:
        seconds = patience.total_seconds()
        return Trial(target, silence=f"cluster {target} did not answer within {seconds:g} s")
    except errors.VolaryError as error:
        return _refused(target, error)


def _unless_problems(found: pool.Unavailable) -> str:
    return "" if found.problems else found.reason


def _options(prepared: preparation.Prepared, member: fleet.Cluster | None) -> apply.Options:
    return apply.Options(
        namespaces=member.namespaces if member else (),
        create_namespaces=prepared.project.application.input.auto_create_namespace,
    )


async def _preview(
    client: clients.Client, sets: Sequence[Sequence[manifest.Manifest]], options: apply.Options
) -> Trial:
    """Try every set, also after one was refused, so that all problems show at once."""
    changes = change.ChangeSet()
    found: list[problem.Problem] = []
    for manifests in sets:
        try:
            changes = await apply.preview_set(client, manifests, options)
        except apply.ApplyError as error:
            refused = _refused(client.name, error)
            if refused.silence:
                return refused
            found += refused.problems
    return Trial(client.name, changes, tuple(dict.fromkeys(found)))


def _refused(target: str, error: errors.VolaryError) -> Trial:
    """Tell what somebody has to mend from what may pass."""
    gone = apply.unreachable(error)
    if gone is not None:
        return Trial(target, silence=str(gone))
    match error:
        case errors.UserError() | apply.ApplyError():
            return Trial(target, problems=error.problems)
        case errors.TemporaryError():
            return Trial(target, silence=f"cluster {target}: {error}")
        case _:
            return Trial(target, problems=(problem.Problem(f"cluster {target}: {error}"),))


def _sets(prepared: preparation.Prepared, target: str) -> list[Sequence[manifest.Manifest]]:
    """Return what the stages that visit a target apply, in their order.

    Raises:
        UserError: With the problems of every stage whose manifests cannot be made.
    """
    made: list[Sequence[manifest.Manifest]] = []
    found: list[problem.Problem] = []
    for each in prepared.plan.stages:
        if not target_choice.of_stage(each, (target,)):
            continue
        try:
            manifests = _of_stage(prepared, each, target)
        except errors.UserError as error:
            found += error.problems
        else:
            made += [manifests] if manifests else []
    if found:
        raise errors.UserError(*dict.fromkeys(found))
    return made


def _of_stage(
    prepared: preparation.Prepared, each: stage.Stage, target: str
) -> Sequence[manifest.Manifest]:
    """Return what a stage applies to a target; nothing for those that apply no manifests."""
    application, commit = prepared.project.application, prepared.project.commit
    source, options = prepared.manifests[target], each.options
    match rendering.variant_of(each.name):
        case None:
            return ()
        case variant.Variant.PRIMARY:
            assert isinstance(options, stage.SyncOptions | stage.PrimaryRolloutOptions)
            return primary_rollout.plan(source, application, options, commit=commit).manifests
        case variant.Variant.CANARY:
            assert isinstance(options, stage.VariantRolloutOptions)
            return canary_rollout.plan(source, application, options, commit=commit)
        case variant.Variant.BASELINE:
            assert isinstance(options, stage.VariantRolloutOptions)
            running, before = prepared.old_manifests.get(target), prepared.running.commit
            if not running:
                raise errors.user_error(
                    f"{target} has no running version to make a baseline of",
                    hint="deploy once with --strategy quick, or name what runs with --running",
                )
            return baseline_rollout.plan(running, application, options, commit=before)
        case unknown:
            assert_never(unknown)
