"""How traffic moves to the new version step by step: the loop of Flagger as a table.

One *tick* is one round of checks and at most one step. What has to be asked before a step
depends on the position alone, so a caller first looks at `is_first` and `gate`, asks, and
then takes the answers to `tick`. Nothing here asks, waits or writes.

The traces are Flagger's, with its dead ends mended: a step is cut at the maximum unless
overshoot is asked for, a weight that somebody set by hand goes on to the next weight of the
list (Flagger jumps to 100), and a refused promotion does not begin the iterations anew.
Plans that can never end are refused when they are read (`config.stages.progressive_rules`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from volary.model.pipeline.stage_kinds import traffic_stages

ALL = 100

Options = traffic_stages.ProgressiveTrafficOptions


class Strategy(StrEnum):
    """Which of Flagger's three ways is taken."""

    WEIGHTS = "weights"
    BLUE_GREEN = "blue/green"
    AB_TEST = "A/B test"


class Gate(StrEnum):
    """What is asked before a step."""

    TRAFFIC_INCREASE = "confirm-traffic-increase"
    PROMOTION = "confirm-promotion"


class Move(StrEnum):
    """What a tick leads to."""

    #: Nothing is written.
    STAY = "stay"
    #: The routes are written as the new position says.
    ROUTE = "route"
    #: The new version may be promoted: the stage succeeds.
    PROMOTE = "promote"
    #: The stage fails, and canary's traffic is given back.
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Position:
    """How far the stage is."""

    #: Canary's percentage of the traffic, primary has the rest; as the live routes say.
    weight: int = 0
    #: Failed checks since the stage began; one that passes does not reset it.
    failed: int = 0
    iterations: int = 0
    #: Canary gets a copy of the requests.
    mirrored: bool = False
    #: Everything is done but a gate does not agree yet.
    waiting: bool = False


@dataclass(frozen=True, slots=True)
class Answers:
    """What was found out in one tick."""

    #: Somebody asked to roll back, or what was found is so bad that nothing can mend it.
    rollback: bool = False
    #: The checks passed.
    passed: bool = True
    #: There was enough to judge by; else nothing is counted and nothing moves.
    conclusive: bool = True
    #: The gate agreed, or there was none.
    granted: bool = True


@dataclass(frozen=True, slots=True)
class Tick:
    """What one tick leads to, with the sentence that says why."""

    position: Position
    move: Move
    sentence: str


_Effect = Callable[[Options, Position], Tick]


def strategy(options: Options) -> Strategy:
    """Return which way is taken (Flagger: ``match`` and ``iterations`` decide)."""
    if options.iterations <= 0:
        return Strategy.WEIGHTS
    return Strategy.AB_TEST if options.match else Strategy.BLUE_GREEN


def maximum(options: Options) -> int:
    """Return the percentage at which the new version is promoted."""
    if options.step_weights:
        return min(ALL, options.step_weights[-1])
    return options.max_weight if options.max_weight > 0 else ALL


def next_weight(options: Options, weight: int) -> int:
    """Return canary's percentage after the next step up from `weight`."""
    top = maximum(options)
    if weight >= top:
        return weight
    if options.step_weights:
        return next(
            (step_weight for step_weight in options.step_weights if step_weight > weight), top
        )
    limit = ALL if options.overshoot else top
    return min(limit, weight + options.step_weight)


def next_weight_back(options: Options, weight: int) -> int:
    """Return canary's percentage after the next step back to a promoted primary."""
    step = options.step_weight_promotion
    return max(0, weight - step) if step > 0 else 0


def is_first(position: Position) -> bool:
    """Say whether canary got nothing yet: then there is nothing to measure (Flagger)."""
    return position.weight == 0 and position.iterations == 0 and not position.mirrored


def gate(options: Options, position: Position) -> Gate | None:
    """Return what has to be asked before this tick's step; None: nothing."""
    if position.mirrored and strategy(options) is Strategy.WEIGHTS:
        return None
    return _step(options, position)[0]


def tick(options: Options, position: Position, answers: Answers) -> Tick:
    """Take the answers of one round and return what follows.

    The order is Flagger's: a rollback that was asked for, then the threshold of the rounds
    before (so the stage fails one tick after the last failed check, unless `immediate`),
    then this round's checks, then the gate, then the step.
    """
    if answers.rollback:
        return Tick(position, Move.FAIL, "stopped")
    if has_failed(options, position):
        return _failed(options, position)
    if not answers.passed:
        return _count_failure(options, position)
    if not (answers.conclusive and answers.granted):
        return _gate_closed(options, position, answers)
    _, effect = _step(options, position)
    return effect(options, replace(position, waiting=False))


def slowest_position(positions: Sequence[Position]) -> Position:
    """Return the position of several clusters, at least one, in step: that of the slowest."""
    return Position(
        weight=min(position.weight for position in positions),
        failed=max(position.failed for position in positions),
        iterations=min(position.iterations for position in positions),
        mirrored=all(position.mirrored for position in positions),
        waiting=any(position.waiting for position in positions),
    )


def combined_answers(answers: Sequence[Answers]) -> Answers:
    """Return the answer of several clusters that go in step: one that fails counts for all."""
    return Answers(
        rollback=any(answer.rollback for answer in answers),
        passed=all(answer.passed for answer in answers),
        conclusive=all(answer.conclusive for answer in answers),
        granted=all(answer.granted for answer in answers),
    )


def has_failed(options: Options, position: Position) -> bool:
    """Say whether the failed checks so far are too many; then nobody needs to be asked."""
    return position.failed >= options.threshold


def shares(position: Position, baseline: int = 0) -> tuple[int, int, int]:
    """Return the percentages of primary, canary and baseline.

    Baseline keeps what it gets now as long as canary leaves it.
    """
    kept = min(baseline, ALL - position.weight)
    return ALL - position.weight - kept, position.weight, kept


def _failed(options: Options, position: Position) -> Tick:
    plural = "" if position.failed == 1 else "s"
    sentence = f"{position.failed} failed check{plural}, {options.threshold} allow no more"
    return Tick(position, Move.FAIL, sentence)


def _count_failure(options: Options, position: Position) -> Tick:
    after = replace(position, failed=position.failed + 1)
    if options.immediate and has_failed(options, after):
        return _failed(options, after)
    sentence = f"halted: failed check {after.failed} of {options.threshold}"
    return Tick(after, Move.STAY, sentence)


def _gate_closed(options: Options, position: Position, answers: Answers) -> Tick:
    if not answers.conclusive:
        return Tick(position, Move.STAY, "held: there is not enough to judge by")
    if gate(options, position) is Gate.PROMOTION:
        return Tick(replace(position, waiting=True), Move.STAY, "waiting for confirm-promotion")
    return Tick(position, Move.STAY, "waiting for confirm-traffic-increase")


def _step(options: Options, position: Position) -> tuple[Gate | None, _Effect]:
    """Return what has to be asked before the next step, and the step."""
    if strategy(options) is Strategy.WEIGHTS:
        if position.weight >= maximum(options):
            return Gate.PROMOTION, _promote
        if options.mirror and position.weight == 0 and not position.mirrored:
            return Gate.TRAFFIC_INCREASE, _mirror
        return Gate.TRAFFIC_INCREASE, _up
    if position.iterations < options.iterations:
        return None, _count
    is_switched = position.weight >= ALL and position.iterations > options.iterations
    if strategy(options) is Strategy.BLUE_GREEN and not is_switched:
        return Gate.PROMOTION, _switch
    return Gate.PROMOTION, _promote


def _mirror(options: Options, position: Position) -> Tick:
    sentence = f"a copy of {options.mirror_weight} % of the requests goes to canary"
    return Tick(replace(position, mirrored=True), Move.ROUTE, sentence)


def _up(options: Options, position: Position) -> Tick:
    weight = next_weight(options, position.weight)
    after = replace(position, weight=weight, mirrored=False)
    return Tick(after, Move.ROUTE, f"canary weight {weight}")


def _count(options: Options, position: Position) -> Tick:
    after = replace(position, iterations=position.iterations + 1)
    sentence = f"iteration {after.iterations}/{options.iterations}"
    if strategy(options) is Strategy.AB_TEST:
        is_routed = position.weight >= ALL
        after = replace(after, weight=ALL)
        return Tick(after, Move.STAY if is_routed else Move.ROUTE, sentence)
    if options.mirror and not position.mirrored:
        return Tick(replace(after, mirrored=True), Move.ROUTE, sentence)
    return Tick(after, Move.STAY, sentence)


def _switch(options: Options, position: Position) -> Tick:
    after = replace(position, weight=ALL, iterations=options.iterations + 1, mirrored=False)
    return Tick(after, Move.ROUTE, "all traffic goes to canary")


def _promote(options: Options, position: Position) -> Tick:
    del options
    return Tick(position, Move.PROMOTE, "every check passed: ready to be promoted")
