"""Which of an application's clusters take something new now, and why the others do not."""

from volary.model import applications
from volary.model.fleet import fleets, taints
from volary.model.placement import rollouts


def exclusion_reason(app: applications.Application, cluster: fleets.Cluster) -> str:
    """Return why nothing new begins on a cluster of the application; empty: it may."""
    if cluster.suspended:
        return "suspended in the fleet"
    return "; ".join(f"tainted {taints.title(taint)}" for taint in untolerated_taints(app, cluster))


def exclusion_summary(app: applications.Application, cluster: fleets.Cluster) -> str:
    """Return the same in the words of people, such as ``cordoned by ana: 1.36``."""
    return (
        "suspended in the fleet"
        if cluster.suspended
        else taints.explain(untolerated_taints(app, cluster))
    )


def untolerated_taints(
    app: applications.Application, cluster: fleets.Cluster
) -> tuple[taints.Taint, ...]:
    """Return a cluster's marks that the application does not tolerate.

    Where a wave says what becomes of clusters that cannot be reached, it decides, when its
    turn comes and within its budget: what the rules say of a cluster's health does not.
    """
    untolerated = taints.untolerated(cluster.taints, app.tolerations)
    fails = rollouts.OnWaveUnreachable.FAIL
    if all(wave.on_unreachable is fails for wave in app.waves.waves):
        return untolerated
    own = (taints.NOT_READY, taints.UNREACHABLE)
    return tuple(
        taint for taint in untolerated if taint.by != taints.BY_RULE or taint.key not in own
    )
