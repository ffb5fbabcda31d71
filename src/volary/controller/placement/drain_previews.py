"""What draining a cluster would do to an application, decided as if it were; nothing is kept."""

from dataclasses import dataclass

from volary.controller.fleet import cluster_registry
from volary.controller.placement import rebalancing
from volary.controller.runs import ready_runs
from volary.controller.status import application_statuses
from volary.model import phrases
from volary.model.fleet import taints
from volary.model.placement import failover_rules
from volary.placement import health_states
from volary.placement.failover import decisions, eviction_limits

_STAYS = "it is leaving already, or is not counted as being there: nothing moves"


@dataclass(frozen=True, slots=True)
class DrainEffect:
    """What would become of one application."""

    #: Whether it would leave the cluster.
    moves: bool
    #: Clusters that it would be on besides then.
    replacements: tuple[str, ...] = ()
    #: Why it would move, or stay, one sentence.
    reason: str = ""


async def of_drain(
    dependencies: ready_runs.Dependencies,
    place: ready_runs.ApplicationSource,
    status: application_statuses.ApplicationStatus,
    register: cluster_registry.ClusterRegistry,
    cluster: str,
    *,
    project: str,
    limits: failover_rules.FailoverLimits,
) -> DrainEffect:
    """Return what a drain of a cluster would do to an application that is there now.

    Raises:
        errors.UserError: Its file cannot be used.
        errors.TemporaryError: It cannot be told now.
    """
    commit = status.releases.for_newcomers
    if not commit:
        return DrainEffect(False, reason="no release of it was completed yet: nothing moves")
    opened = await ready_runs.open_application(dependencies, place, commit)
    now = dependencies.clock.now()
    drain = taints.Taint(taints.DRAINED, "", taints.Effect.NO_EXECUTE, now, "", "")
    known = {
        **register.known,
        cluster: health_states.taint(register.of(cluster), [drain]),
    }
    situation = rebalancing.situation(
        dependencies, opened, status, known, register.rules, project=project
    )
    view = eviction_limits.assess(register.known, now, register.rules)
    decision = decisions.decide(situation, eviction_limits.allowance(view, (), limits, now))
    leaving = next((each for each in decision.leaving if each.cluster == cluster), None)
    if leaving is not None:
        names = phrases.join_names(leaving.replacements) or "the clusters that it is on besides"
        return DrainEffect(True, leaving.replacements, f"its replicas go to {names}")
    # Who drained it, as whoever looks may do, is said before what keeps it there.
    why = decision.waiting.get(cluster, "").partition("; ")[2]
    return DrainEffect(False, reason=why or _STAYS)
