"""Who gets how many replicas in a run: decided once, when it is prepared.

What an application had is known from its last release that succeeded; where nobody remembers,
it is read from the live objects, unless they carry another application's labels. Free capacity is
read only when something has to be placed. Neither is guessed. `read_primary_pods` says how many
pods primary has on each cluster: as written, or live where something else scales it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from volary.clusters.apply import live_objects
from volary.clusters.client import client_pool, clients, resource_mapping
from volary.clusters.observe import free_capacity
from volary.config.crosscheck import eligibility, fleet_checks
from volary.controller.planning import cluster_questions
from volary.manifests import objects
from volary.manifests.ownership import tracking
from volary.manifests.workloads import autoscalers, workloads
from volary.model import applications, errors
from volary.model.fleet import fleets
from volary.model.objects import manifest
from volary.model.placement import overrides
from volary.placement.failover import situations
from volary.placement.replicas import assignment, divisible_workloads
from volary.stages.rollouts import scaling

Manifests = Mapping[str, Sequence[manifest.Manifest]]


@dataclass(frozen=True, slots=True)
class ReplicaNumbers:
    """The assignments of a run."""

    #: What it brings.
    now: assignment.Assignment = assignment.EMPTY
    #: What was there before, and is gone back to.
    before: assignment.Assignment = assignment.EMPTY
    #: What somebody should know about it.
    warnings: tuple[errors.Problem, ...] = ()


def divides_replicas(application: applications.Application) -> bool:
    """Say whether clusters share the application's replicas."""
    return application.differences.replicas.division is overrides.Division.DIVIDED


def members_of(
    application: applications.Application,
    known: fleets.Fleet,
    targets: Sequence[str],
    placed: situations.PlacementState,
) -> tuple[fleets.Cluster, ...]:
    """Return the clusters that replicas are divided over, in the order of the fleet.

    Those of the run, and those that are left out of it for now (suspended, cordoned) without
    having been left: what they have of the application is still there.
    """
    return tuple(
        cluster
        for cluster in fleet_checks.deployment_targets(application, known)
        if cluster.name in targets or _is_still_there(application, cluster, placed)
    )


def _is_still_there(
    application: applications.Application,
    cluster: fleets.Cluster,
    placed: situations.PlacementState,
) -> bool:
    if not eligibility.exclusion_reason(application, cluster) or cluster.name in placed.away:
        return False
    unknown = not placed.chosen and not application.spread
    return unknown or cluster.name in placed.chosen


async def assign_replicas(
    questions: cluster_questions.ClusterQuestions,
    application: applications.Application,
    manifests: Manifests,
    members: Sequence[fleets.Cluster],
    previous: assignment.Assignment | None,
    *,
    fresh: bool = False,
    back_to: assignment.Assignment = assignment.EMPTY,
) -> ReplicaNumbers:
    """Return who gets how many replicas, and who had.

    Args:
        questions: Asks the clusters.
        application: Whose replicas.
        manifests: By target of the run, before anything is divided.
        members: What is divided over, see `members`.
        previous: What the application had, as somebody remembers; None: nobody does.
        fresh: Place everything anew.
        back_to: What is taken as it was, where it still fits.

    Raises:
        errors.UserError: There is not enough room, or something cannot be divided like this.
    """
    policy = application.differences.replicas
    dividends = divisible_workloads.find(manifests, policy)
    if not policy.needs_capacity:
        made = assignment.assign(policy, dividends, members)
        told = _warnings(made, manifests, policy)
        return ReplicaNumbers(made, previous or assignment.EMPTY, told)
    before, silent = await _before(questions, application, manifests, dividends, previous=previous)
    away = {
        member.name: eligibility.exclusion_reason(application, member)
        for member in members
        if member.name not in manifests
    }
    held = {name: _pods(before, name) for name in (*away, *silent)}
    earlier = assignment.restored(back_to, dividends, members, held)
    if earlier is not None:
        return ReplicaNumbers(earlier, before, _warnings(earlier, manifests, policy))
    readings = free_capacity.FreeCapacities()
    if fresh or assignment.needs_capacity(policy, dividends, members, before):
        asked = tuple(name for name in manifests if name not in questions.silent)
        readings = await free_capacity.read(
            questions.clusters.fleet_wide, asked, patience=questions.patience
        )
    unavailable = {**questions.silent, **silent, **readings.unreadable, **away}
    made = assignment.assign(
        policy, dividends, members, before, readings.rooms, unavailable, fresh=fresh
    )
    return ReplicaNumbers(made, before, _warnings(made, manifests, policy))


def _pods(made: assignment.Assignment, cluster: str) -> int:
    return sum(workload.replicas.get(cluster, 0) for workload in made.workloads)


def _warnings(
    made: assignment.Assignment, manifests: Manifests, policy: overrides.ReplicaDivision
) -> tuple[errors.Problem, ...]:
    """Return what somebody should know about a division."""
    lines = [f"{name} gets no more replicas: {why}" for name, why in made.unavailable.items()]
    told = [errors.Problem(line, severity=errors.Severity.WARNING) for line in lines]
    for listed in manifests.values():
        told += not_divided(listed, policy)
    return tuple(dict.fromkeys(told))


def check(manifests: Sequence[manifest.Manifest], policy: overrides.ReplicaDivision) -> None:
    """Check what is divided, as far as manifests alone tell.

    Raises:
        errors.UserError: The bounds of an autoscaler do not fit each other.
    """
    divisible_workloads.find({"": manifests}, policy)


def not_divided(
    manifests: Sequence[manifest.Manifest], policy: overrides.ReplicaDivision
) -> list[errors.Problem]:
    """Return a warning for each workload that is not divided since an autoscaler scales it."""
    if policy.autoscaled is not overrides.Autoscaled.LEAVE:
        return []
    return [
        errors.Problem(
            f"{item.key.title} is not divided: {scaler.key.title} scales it on each cluster by"
            " itself",
            item.origin,
            "write placement.replicas.autoscaled: divideBounds to divide the autoscaler's bounds",
            errors.Severity.WARNING,
        )
        for item, scaler in divisible_workloads.autoscaled(manifests)
    ]


async def _before(
    questions: cluster_questions.ClusterQuestions,
    application: applications.Application,
    manifests: Manifests,
    dividends: Sequence[divisible_workloads.Workload],
    *,
    previous: assignment.Assignment | None,
) -> tuple[assignment.Assignment, Mapping[str, str]]:
    """Return what the clusters have, and those of which nobody knows it."""
    known = previous or assignment.EMPTY
    unknown = [dividend.key for dividend in dividends if known.find(dividend.key) is None]
    if not unknown:
        return known, {}
    observed, silent = await _observe(questions, application, manifests, dividends)
    extra = [workload for workload in observed.workloads if workload.key in unknown]
    return replace(known, workloads=(*known.workloads, *extra)), silent


async def _observe(
    questions: cluster_questions.ClusterQuestions,
    application: applications.Application,
    manifests: Manifests,
    dividends: Sequence[divisible_workloads.Workload],
) -> tuple[assignment.Assignment, Mapping[str, str]]:
    keys = {dividend.key for dividend in dividends}
    wanted = {
        target: [item for item in listed if item.key in keys]
        for target, listed in manifests.items()
    }
    shares, silent = await observe(questions, application, wanted)
    divided = tuple(
        assignment.WorkloadAssignment(
            dividend.key,
            {
                target: target_shares[dividend.key]
                for target, target_shares in shares.items()
                if dividend.key in target_shares
            },
            "as it was seen live",
        )
        for dividend in dividends
    )
    return assignment.Assignment(divided), silent


Shares = Mapping[manifest.ResourceKey, divisible_workloads.Share]


async def observe(
    questions: cluster_questions.ClusterQuestions,
    application: applications.Application,
    wanted: Manifests,
) -> tuple[Mapping[str, Shares], Mapping[str, str]]:
    """Return what live objects say, by target and key, and the targets that do not tell.

    Objects of another application do not count.
    """

    seen: dict[str, Shares] = {}
    silent: dict[str, str] = {}
    answers = await questions.ask_all(
        wanted, lambda client: _live(client, application, wanted[client.name])
    )
    for target, answer in answers.items():
        if isinstance(answer, client_pool.Unavailable):
            silent[target] = answer.reason
        else:
            seen[target] = answer
    return seen, silent


async def _live(
    client: clients.Client,
    application: applications.Application,
    wanted: Sequence[manifest.Manifest],
) -> Shares:
    placement = await resource_mapping.map_manifests(client, wanted)
    live = await live_objects.read(client, placement.mapped)
    by_name = {(key.kind, key.name): body for key, body in live.items()}
    shares: dict[manifest.ResourceKey, divisible_workloads.Share] = {}
    for item in wanted:
        body = by_name.get((item.kind, item.name))
        if body is None:
            continue
        owner = tracking.owner_of(body)
        if owner is None or owner.name == application.declared_name:
            shares[item.key] = _share(manifest.Manifest(body))
    return shares


def _share(item: manifest.Manifest) -> divisible_workloads.Share:
    if item.kind in autoscalers.KINDS:
        least, most = autoscalers.bounds(item)
        return divisible_workloads.Share(most, least=least)
    key = "parallelism" if item.kind == "Job" else "replicas"
    completions = objects.value(item.body, "spec", "completions")
    return divisible_workloads.Share(
        objects.number(item.body, "spec", key, default=1),
        completions if isinstance(completions, int) and item.kind == "Job" else None,
    )


async def read_primary_pods(
    questions: cluster_questions.ClusterQuestions,
    application: applications.Application,
    manifests: Mapping[str, Sequence[manifest.Manifest]],
) -> dict[str, dict[str, int]]:
    """Return the pods by cluster, then by workload as ``Deployment web``.

    Raises:
        errors.UserError: A cluster whose live number counts does not tell it.
    """
    pods_by_target: dict[str, dict[str, int]] = {}
    left_open: dict[str, list[manifest.Manifest]] = {}
    for target, listed in manifests.items():
        chosen = [
            item
            for item in workloads.find(listed, application.workloads)
            if workloads.has_replicas(item)
        ]
        pods_by_target[target] = {
            workload_title(item): workloads.replicas(item.body) for item in chosen
        }
        undecided = [item for item in chosen if scaling.is_scaled_by_others(item, listed)]
        if undecided:
            left_open[target] = undecided
    seen, silent = await observe(questions, application, left_open)
    if silent:
        told = "; ".join(f"{target}: {why}" for target, why in silent.items())
        raise errors.user_error(
            f"how many pods primary has is not known, and a share of the fleet needs it: {told}",
            hint="try again when the clusters answer, or write a share of each cluster",
        )
    for target, shares in seen.items():
        for item in left_open[target]:
            if item.key in shares:
                pods_by_target[target][workload_title(item)] = shares[item.key].replicas
    return pods_by_target


def workload_title(item: manifest.Manifest) -> str:
    """Return a workload as batches name it."""
    return f"{item.kind} {item.name}"
