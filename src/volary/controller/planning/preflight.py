"""Before anything is written: would every cluster take all that the run is going to apply?

The manifests of each stage are made and tried on each cluster by server-side dry run, all
clusters at once. What is missing, forbidden, owned by somebody else or cannot be changed
shows here, where no cluster has been touched, and not in one cluster after another has
had its canary. What the stages check again later stays as it is: a cluster may change. Kinds of
whose health nothing is known are named before a run goes on without waiting for them.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from volary.clusters.api import server_warnings
from volary.clusters.apply import applier, apply_errors, dry_runs
from volary.clusters.client import client_pool, clients
from volary.clusters.inventory import (
    inventory,
    inventory_store,
    owned_objects,
    pruning,
    snapshots,
)
from volary.concurrency import fan_out, work_threads
from volary.controller.planning import (
    cluster_questions,
    measuring_jobs,
    needed_permissions,
    pod_permissions,
    preparation,
    project_checks,
)
from volary.manifests.health import assessment
from volary.model import errors, json
from volary.model.fleet import fleets
from volary.model.objects import apply_results, manifest, object_health, ownership
from volary.model.pipeline import pipelines
from volary.planner import targets as target_choice
from volary.stages import registry
from volary.stages.rollouts import service_changes
from volary.stages.runtime import stage_runners


@dataclass(frozen=True, slots=True)
class Trial:
    """What one cluster answered."""

    target: str
    #: What the last rollout for this cluster would do; of primary, where it is rolled out.
    changes: apply_results.ChangeSet = field(default_factory=apply_results.ChangeSet)
    #: What has to be mended first.
    problems: tuple[errors.Problem, ...] = ()
    #: Why it could not be asked; empty: it could.
    unreachable_reason: str = ""
    #: The objects of `changes` with their two sides, when somebody wanted to look closely; of what
    #: would be pruned there is only what is there now.
    previewed: tuple[dry_runs.ObjectPreview, ...] = ()
    #: What the API server warns of; after looking closely, also what could not be read.
    warnings: tuple[str, ...] = ()
    #: Warnings of what the user may not look at, so that nothing is measured of it.
    unmeasured: tuple[errors.Problem, ...] = ()
    #: After looking closely: why nothing that Git no longer has would go; empty: it would.
    prune_refusal: str = ""


async def try_run(
    prepared: preparation.PreparedRun,
    clusters: client_pool.FleetClients,
    *,
    patience: timedelta = cluster_questions.PATIENCE,
    told: Callable[[str], None] = lambda _: None,
    closely: bool = False,
) -> tuple[Trial, ...]:
    """Try the run on every target at once and return what each says; writes nothing.

    `closely` also finds out what each object would become and what would be pruned, which
    costs lists and keeps every answer in memory. A cluster that says nothing for `patience`, or
    that did not answer before, counts as unreachable; `told` is given a sentence with whom is
    waited for.
    """
    questions = cluster_questions.ClusterQuestions(
        clusters, patience, told=told, silent=prepared.silent
    )
    trials = await fan_out.run_all(
        prepared.plan.targets, lambda target: _try(prepared, questions, target, closely=closely)
    )
    return tuple(trials)


def problems(trials: Sequence[Trial]) -> tuple[errors.Problem, ...]:
    """Return what has to be mended, what all clusters have in common only once."""
    return tuple(dict.fromkeys(problem for trial in trials for problem in trial.problems))


def unmeasured(trials: Sequence[Trial]) -> tuple[errors.Problem, ...]:
    """Return warnings of what is not measured, as the user may not look at it."""
    return tuple(dict.fromkeys(problem for trial in trials for problem in trial.unmeasured))


def silent(trials: Sequence[Trial]) -> Mapping[str, str]:
    """Return the clusters that could not be asked, with the reason of each."""
    return {trial.target: trial.unreachable_reason for trial in trials if trial.unreachable_reason}


async def _try(
    prepared: preparation.PreparedRun,
    questions: cluster_questions.ClusterQuestions,
    target: str,
    *,
    closely: bool,
) -> Trial:
    try:
        rollouts = await work_threads.run_many(
            prepared.manifests[target],
            f"planning the stages for {target}",
            _rollouts,
            prepared,
            target,
        )
    except errors.UserError as error:
        return Trial(target, problems=error.problems)
    member = questions.clusters.member(target)
    answer = await questions.ask(
        target, lambda client: _try_on(client, prepared, member, rollouts, closely=closely)
    )
    if not isinstance(answer, client_pool.Unavailable):
        return answer
    named = f"cluster {target}"
    reason = answer.reason if named in answer.reason else f"{named}: {answer.reason}"
    reason = "" if answer.problems else reason
    return Trial(target, problems=_named(answer), unreachable_reason=reason)


async def _try_on(
    client: clients.Client,
    prepared: preparation.PreparedRun,
    member: fleets.Cluster | None,
    rollouts: Sequence[stage_runners.Rollout],
    *,
    closely: bool,
) -> Trial:
    try:
        forbidden = await _forbidden(client, prepared, member, rollouts)
        if forbidden:
            return Trial(client.name, problems=forbidden)
        owner = prepared.application_on(client.name).owner
        adopted: list[json.JsonObject] = []
        options = applier.Options(
            owner=owner,
            names_others=prepared.opened.application.names_others,
            conflicts=prepared.opened.application.conflicts,
            namespaces=member.namespaces if member else (),
            create_namespaces=prepared.opened.application.input.auto_create_namespace,
            label=prepared.opened.application.variant_label,
            before_writing=functools.partial(_check_adopted, owner, adopted),
        )
        if client.acts_as:
            home = _home(client, prepared, member, rollouts)
            lacking = await needed_permissions.check(
                client, rollouts, prepared.opened.application, home=home
            )
            if lacking:  # Dry runs would say the same once more, object by object.
                return Trial(client.name, problems=lacking)
        heard: dict[str, None] = {}
        with server_warnings.told_to(heard.setdefault):
            if closely and rollouts:
                trial = await _inspect_closely(prepared, client, rollouts, options)
            else:
                trial = await _preview(client, rollouts, options)
        lacking = await needed_permissions.check(
            client,
            rollouts,
            prepared.opened.application,
            keeps_in=_home(client, prepared, member, rollouts) if adopted else "",
        )
        unseen = await _unseen(client, prepared, rollouts)
        lacking += tuple(one for one in unseen if one.severity is errors.Severity.ERROR)
        return replace(
            trial,
            problems=(*trial.problems, *lacking),
            unmeasured=tuple(one for one in unseen if one.severity is errors.Severity.WARNING),
            warnings=(*(f"the API server says: {text}" for text in heard), *trial.warnings),
        )
    except errors.VolaryError as error:
        return _refused(client.name, error)


async def _unseen(
    client: clients.Client,
    prepared: preparation.PreparedRun,
    rollouts: Sequence[stage_runners.Rollout],
) -> tuple[errors.Problem, ...]:
    """Return what may not be looked at of the pods that the stages there measure."""
    stages = [
        stage for stage in prepared.plan.stages if target_choice.of_stage(stage, (client.name,))
    ]
    application = prepared.opened.application
    return await pod_permissions.check(client, rollouts, stages, application)


async def _forbidden(
    client: clients.Client,
    prepared: preparation.PreparedRun,
    member: fleets.Cluster | None,
    rollouts: Sequence[stage_runners.Rollout],
) -> tuple[errors.Problem, ...]:
    """Return what the project does not permit of what the stages add to the manifests."""
    if prepared.project is None or member is None:
        return ()
    problems: dict[errors.Problem, None] = {}
    application = prepared.opened.application
    jobs = measuring_jobs.manifests_of(application, rollouts, namespace=client.namespace)
    for manifests in (*(rollout.manifests for rollout in rollouts), *((jobs,) if jobs else ())):
        found = await project_checks.of_manifests(
            client, prepared.project, member, application, manifests
        )
        problems.update(dict.fromkeys(found))
    return tuple(problems)


def _home(
    client: clients.Client,
    prepared: preparation.PreparedRun,
    member: fleets.Cluster | None,
    rollouts: Sequence[stage_runners.Rollout],
) -> str:
    """Return the namespace of the inventory, be it there or not."""
    application = prepared.application_on(client.name)
    known = inventory_store.recent(client, application.owner)
    if known is not None:
        return known.namespace
    allowed = member.namespaces if member else ()
    places = {item.namespace for rollout in rollouts for item in rollout.manifests} - {""}
    return inventory.home_of(
        application.input.namespace, allowed, allowed or sorted(places), client.namespace
    )


async def _check_adopted(
    owner: ownership.Owner, adopted: list[json.JsonObject], live: Sequence[json.JsonObject]
) -> None:
    """Add to `adopted` what would be; refuse what could not be kept until the run has ended.

    Raises:
        TooLargeError: when it is too much.
    """
    found = snapshots.adopted(live, owner)
    snapshots.check(found)
    adopted += found


def _named(unavailable: client_pool.Unavailable) -> tuple[errors.Problem, ...]:
    """Return the problems of a cluster's connection, each with the cluster's name."""
    name = f"cluster {unavailable.name}"
    return tuple(
        problem
        if name in problem.message
        else replace(problem, message=f"{name}: {problem.message}")
        for problem in unavailable.problems
    )


async def _preview(
    client: clients.Client, rollouts: Sequence[stage_runners.Rollout], options: applier.Options
) -> Trial:
    """Try every set, also after one was refused, so that all problems show at once."""
    changes = apply_results.ChangeSet()
    problems: list[errors.Problem] = []
    for rollout in rollouts:
        try:
            trial = applier.SetApply(client, _of_rollout(client, rollout, options))
            changes = await trial.preview(rollout.manifests)
        except errors.UserError as error:
            problems += error.problems
        except apply_errors.ApplyError as error:
            refused = _refused(client.name, error)
            if refused.unreachable_reason:
                return refused
            problems += refused.problems
    return Trial(client.name, changes, tuple(dict.fromkeys(problems)))


def _of_rollout(
    client: clients.Client, rollout: stage_runners.Rollout, options: applier.Options
) -> applier.Options:
    return replace(options, hold=service_changes.foreseen(client) if rollout.follows_pods else None)


async def _inspect_closely(
    prepared: preparation.PreparedRun,
    client: clients.Client,
    rollouts: Sequence[stage_runners.Rollout],
    options: applier.Options,
) -> Trial:
    """Try what comes before, and inspect the set that decides what runs in the end."""
    *before, last = rollouts
    earlier = await _preview(client, before, options)
    if earlier.unreachable_reason:
        return earlier
    seen = await _inspect(client, last, options, _scope(prepared, client, last, options))
    return replace(seen, problems=tuple(dict.fromkeys((*earlier.problems, *seen.problems))))


async def _inspect(
    client: clients.Client,
    last: stage_runners.Rollout,
    options: applier.Options,
    scope: owned_objects.Scope,
) -> Trial:
    """Return what a set would change object by object, and what it would prune."""
    try:
        trial = applier.SetApply(client, _of_rollout(client, last, options))
        previewed = await trial.inspect(last.manifests)
    except apply_errors.ApplyError as error:
        return _refused(client.name, error)
    changes = tuple(object_preview.change for object_preview in previewed)
    if not last.prune:
        return Trial(client.name, apply_results.ChangeSet(changes), previewed=previewed)
    pruned = await pruning.preview(client, last.manifests, scope)
    every = apply_results.ChangeSet((*changes, *pruned.changes))
    going = (
        dry_runs.ObjectPreview(
            apply_results.Change(item.key, apply_results.Action.DELETED), item.body, None
        )
        for item in pruned.live
    )
    return Trial(
        client.name,
        every,
        previewed=(*previewed, *going),
        warnings=pruned.warnings,
        prune_refusal=pruned.refusal,
    )


def _scope(
    prepared: preparation.PreparedRun,
    client: clients.Client,
    last: stage_runners.Rollout,
    options: applier.Options,
) -> owned_objects.Scope:
    """Return what the stage would look at to prune (`stages.runtime.execution`)."""
    application = prepared.application_on(client.name)
    both = (prepared.manifests, prepared.old_manifests)
    places = {
        item.namespace or client.namespace for side in both for item in side.get(client.name, ())
    }
    return owned_objects.Scope(
        application.owner,
        application.variant_label,
        last.variants,
        options.namespaces,
        prepared.options.allow_mass_deletion,
        tuple(sorted(places)),
    )


def _refused(target: str, error: errors.VolaryError) -> Trial:
    """Tell what somebody has to mend from what may pass."""
    gone = apply_errors.unreachable(error)
    if gone is not None:
        return Trial(target, unreachable_reason=str(gone))
    match error:
        case errors.UserError() | apply_errors.ApplyError():
            return Trial(target, problems=error.problems)
        case errors.TemporaryError():
            return Trial(target, unreachable_reason=f"cluster {target}: {error}")
        case _:
            return Trial(target, problems=(errors.Problem(f"cluster {target}: {error}"),))


def _rollouts(prepared: preparation.PreparedRun, target: str) -> list[stage_runners.Rollout]:
    """Return what the stages that visit a target apply, in their order.

    Raises:
        UserError: With the problems of every stage whose manifests cannot be made.
    """
    made: list[stage_runners.Rollout] = []
    problems: list[errors.Problem] = []
    for stage in prepared.plan.stages:
        if not target_choice.of_stage(stage, (target,)):
            continue
        try:
            rollout = _of_stage(prepared, stage, target)
        except errors.UserError as error:
            problems += error.problems
        else:
            made += [rollout] if rollout.manifests else []
    if problems:
        raise errors.UserError(*dict.fromkeys(problems))
    return made


def _of_stage(
    prepared: preparation.PreparedRun, stage: pipelines.Stage, target: str
) -> stage_runners.Rollout:
    """Return what a stage applies to a target; nothing for those that apply no manifests."""
    sources = stage_runners.Sources(
        prepared.application_on(target),
        prepared.manifests[target],
        prepared.opened.commit,
        target,
        prepared.old_manifests.get(target) or (),
        prepared.running.commit,
    )
    return registry.plan(stage, sources)


def warn_of_unknown_kinds(
    previewed: Sequence[dry_runs.ObjectPreview], rules: Sequence[object_health.Rule]
) -> tuple[str, ...]:
    """Return a sentence for each kind, by name."""
    ruled_by_kind: dict[tuple[str, str], bool] = {}
    for object_preview in previewed:
        if object_preview.change.action is apply_results.Action.DELETED:
            continue
        body = object_preview.after or object_preview.before
        if body is None or assessment.has_rule(manifest.Manifest(body), rules):
            continue
        item = manifest.Manifest(body)
        judged = (
            object_preview.before is not None
            and assessment.assess(object_preview.before, rules).ruled
        )
        ruled_by_kind[item.group, item.kind] = (
            ruled_by_kind.get((item.group, item.kind), False) or judged
        )
    return tuple(
        f"no rule says when a {kind} ({group}) is healthy: unless its controller writes a"
        " condition such as Ready, stages go on once it is there; give a rule under `health` of"
        " the application or the fleet file"
        for (group, kind), judged in sorted(ruled_by_kind.items())
        if not judged
    )
