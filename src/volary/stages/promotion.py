"""How the traffic of a promoted version returns to primary: at once, or step by step.

``stepWeightPromotion`` stands where Flagger has it, with the stage that moved the traffic to
canary; it is carried out here, by the stage that knows when primary runs the new version and
is ready. A step is taken per interval, and the live routes say how many are left, so it goes
on after a crash as it does without one.
"""

from collections.abc import Sequence

from volary.model import manifest, stage
from volary.planner import stepping
from volary.stages import context as contexts
from volary.stages import routes, work
from volary.stages.routing import division


def options(begun: contexts.Stages) -> stage.ProgressiveTrafficOptions | None:
    """Return the last stage's options that want traffic to return in steps; None: at once."""
    for each in reversed(begun):
        found = each.options
        if isinstance(found, stage.ProgressiveTrafficOptions):
            return found if found.step_weight_promotion else None
    return None


async def step_back(doing: work.Work, source: Sequence[manifest.Manifest]) -> None:
    """Take canary's traffic back in steps, down to none, where that is wanted.

    Raises:
        StageFailedError: when primary cannot take it.
        StoppedError: when asked to stop; the traffic stays as it is then.
    """
    wanted = options(doing.context.begun)
    if wanted is None:
        return
    while True:
        seen = await routes.observe(doing, source)
        if seen is None or not seen.canary:
            return
        weight = stepping.returning(wanted, seen.canary)
        primary, canary, baseline = stepping.shares(stepping.Position(weight=weight), seen.baseline)
        asked = division.Division(
            primary,
            canary,
            baseline,
            affinity=wanted.session_affinity,
            interval=wanted.interval,
        )
        observed = await routes.divide(doing, source, asked)
        doing.context.weights("traffic returns to primary", asked.shares, observed.shares)
        if not canary:
            return
        await doing.pause(wanted.interval)
