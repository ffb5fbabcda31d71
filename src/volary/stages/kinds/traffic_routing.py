"""``K8S_TRAFFIC_ROUTING``: how much traffic goes to which variant.

Nothing is sent to a variant without a ready pod, and what was written is read back.
"""

from collections.abc import Awaitable, Callable

from volary.clusters.apply import apply_errors
from volary.model import errors
from volary.model.pipeline.stage_kinds import traffic_stages
from volary.stages.runtime import execution, stage_runners
from volary.stages.traffic import division, routes, variant_pods, weights
from volary.stages.traffic.routers import registry


def check(sources: stage_runners.Sources, *divisions: division.Division) -> None:
    """Refuse divisions that the router cannot make with these manifests.

    Raises:
        UserError: when the router cannot divide traffic like this, or the manifests lack
            what it needs.
    """
    application, router = sources.application, registry.choose(sources.application)
    for wanted in divisions:
        router.check(wanted)
        for which in wanted.needed:
            variant_pods.labels(sources.manifests, application, which)
        router.routed(registry.find(sources.manifests, application), wanted)


async def or_give_up(way: Awaitable[str], give_up: Callable[[str], Awaitable[str]]) -> str:
    """Return what a stage that moves traffic says in the end; where it fails, `give_up` before.

    Not when the cluster is out of reach: the stage may go on once it is back.

    Raises:
        StageFailedError: with what `give_up` says of the reason.
        UserError: as it was, with every problem.
        ApplyError: the same.
        StoppedError: when asked to stop.
    """
    try:
        return await way
    except execution.StoppedError:
        raise
    except errors.VolaryError as error:
        if apply_errors.unreachable(error) is not None:
            raise
        sentence = await give_up(str(error))
        if isinstance(error, errors.UserError | apply_errors.ApplyError):
            raise
        raise execution.StageFailedError(sentence) from error


async def run(work: execution.Work, options: traffic_stages.TrafficOptions) -> str:
    """Carry out the stage on one cluster."""
    context = work.context
    wanted = division.of(options)
    source = await work.load(context.target_source)
    context.weights("moving traffic", wanted.shares, {})
    observed = await routes.divide(work, source, wanted)
    context.weights("traffic moved", wanted.shares, observed.shares)
    said = weights.summary(observed.shares, is_matched=observed.is_matched, mirror=observed.mirror)
    return f"traffic: {said}"


def _check(sources: stage_runners.Sources, options: traffic_stages.TrafficOptions) -> None:
    check(sources, division.of(options))


RUNNER = stage_runners.StageRunner(kind=traffic_stages.TRAFFIC_ROUTING, run=run, check=_check)
