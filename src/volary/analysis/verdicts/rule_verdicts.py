"""What a rule says about a release so far: a pure function of what was measured and of the time.

Failing may happen at any look; passing only when the analysis has seen what it was to see. In
between, and where there is too little, the answer is *inconclusive*, which `Rule.no_data` turns
into a failure once the deadline is over. A pass without data exists only where the rule says so.
"""

import dataclasses
import math
from collections.abc import Sequence
from datetime import datetime

from volary.analysis.statistics import binomial
from volary.analysis.verdicts import (
    bucket_bounds,
    burn_rates,
    checks,
    clauses,
    evidence,
    histories,
    power,
    samples,
    three_ways,
)
from volary.model import analysis, phrases
from volary.model.analysis import FailureCount, Judgement, NoData, Result


def judge(rule: analysis.Rule, series: analysis.Series, now: datetime) -> analysis.Verdict:
    """Judge one rule on one cluster."""
    return judge_looks(rule, [series], samples.at_cluster(rule, series, now), now)


def worst(verdicts: Sequence[analysis.Verdict]) -> analysis.Verdict | None:
    """Return the verdict that decides for all of them; None when none of them decides.

    Failing goes before inconclusive, and that before passing; dry runs are left out.
    """
    order = (Result.FAIL, Result.INCONCLUSIVE, Result.PASS)
    deciding = [verdict for verdict in verdicts if not verdict.dry_run]
    # A pass that is not final holds the others up.
    return min(
        deciding, key=lambda verdict: (order.index(verdict.result), verdict.is_final), default=None
    )


def summary(rule: analysis.Rule, series: analysis.Series, seen: Sequence[samples.Look]) -> str:
    """Say what was seen on a cluster, whatever it comes to; there has to be a look."""
    rule = histories.resolved(rule, [series])
    judged = _judge_looks(rule, seen, [series])
    return f"{clauses.subject(rule, [series.target])}: {judged.condemned or judged.passing}"


def judge_looks(
    rule: analysis.Rule,
    series: Sequence[analysis.Series],
    seen: Sequence[samples.Look],
    now: datetime,
) -> analysis.Verdict:
    """Judge the looks at the clusters of all series, of which there has to be one."""
    rule = histories.resolved(rule, series)
    judged = (
        _judge_looks(rule, seen, series) if seen else _Judged(missing=_unseen(rule, series, now))
    )
    has_ended = now >= max(cluster_series.ends for cluster_series in series)
    missing = judged.missing
    if not missing and has_ended and rule.no_data is NoData.HOLD:
        missing = _uncovered(rule, series, judged.covered)
    is_overdue = now >= max(cluster_series.deadline for cluster_series in series)
    result, why, is_final = _decided(
        rule, judged, missing, has_ended=has_ended, is_overdue=is_overdue
    )
    why += histories.words(rule, series) + bucket_bounds.words(rule, series) if seen else ""
    name = clauses.subject(rule, [cluster_series.target for cluster_series in series])
    numbers = judged.numbers
    if result is Result.PASS and is_final and not missing:
        numbers = dataclasses.replace(numbers, detectable=_least_found(rule, judged.grounds))
        why += clauses.would_be_found(rule, numbers)
    return analysis.Verdict(
        result,
        f"{name}: {why}",
        rule.name,
        target=series[0].target if len(series) == 1 else "",
        numbers=numbers,
        is_final=is_final,
        is_condemned=result is Result.FAIL and judged.is_measured and judged.is_bad,
        dry_run=rule.dry_run,
    )


def _least_found(rule: analysis.Rule, grounds: evidence.Blocks) -> float | None:
    if not grounds:
        return None
    test = evidence.so_far if _is_sequential(rule) else evidence.at_once
    tested = burn_rates.lowest_bound(rule)
    return power.least_found(tested, evidence.measured(rule, grounds), test)


def _unseen(rule: analysis.Rule, series: Sequence[analysis.Series], now: datetime) -> str:
    if any(measurement.time <= now for one in series for measurement in one.measurements):
        since = "since the warm-up" if rule.warm_up else "about the time since it began"
        return f"nothing has been measured {since}"
    return "nothing has been measured yet"


@dataclasses.dataclass(frozen=True, slots=True)
class _Judged:
    """What the looks come to, whatever the time is."""

    #: So bad that nothing to come can mend it: the sentence that says so.
    condemned: str = ""
    #: It is what was measured that is so bad, not what is missing.
    is_measured: bool = True
    #: Why they do not allow a pass yet.
    missing: str = ""
    #: What a pass would say.
    passing: str = ""
    #: All that could be judged failed, though no more than the rule allows.
    none_is_good: bool = False
    #: Looks whose data were used.
    covered: int = 0
    #: What a pass rests on, where it was tested.
    grounds: evidence.Blocks = ()
    numbers: analysis.Numbers = dataclasses.field(default_factory=analysis.Numbers)

    @property
    def is_empty(self) -> bool:
        """Whether nothing could be said of what was measured."""
        return not self.condemned and not self.passing

    @property
    def is_bad(self) -> bool:
        return bool(self.condemned) or self.none_is_good


def _uncovered(rule: analysis.Rule, series: Sequence[analysis.Series], done: int) -> str:
    """Say that fewer than half of the planned looks could be judged; empty: no fewer."""
    planned = max(
        math.floor((one.ends - one.started - rule.unjudged) / rule.interval) for one in series
    )
    if 2 * done < planned:
        return f"only {done} of {phrases.count(planned, 'look')} could be judged"
    return ""


def _decided(
    rule: analysis.Rule, judged: _Judged, missing: str, *, has_ended: bool, is_overdue: bool
) -> tuple[Result, str, bool]:
    """Return the result, the reason and whether it is final; `missing` is why it is no pass."""
    if judged.condemned:
        return Result.FAIL, judged.condemned, True
    if judged.none_is_good and has_ended:
        return Result.FAIL, f"{judged.missing} when the analysis ended", True
    if not missing:
        return Result.PASS, judged.passing, has_ended
    if not has_ended:
        return Result.INCONCLUSIVE, missing, False
    return _without_data(rule, missing, is_overdue=is_overdue)


def _without_data(
    rule: analysis.Rule, missing: str, *, is_overdue: bool
) -> tuple[Result, str, bool]:
    match rule.no_data:
        case NoData.PASS:
            return Result.PASS, f"{missing}; the rule lets that pass", True
        case NoData.FAIL:
            return Result.FAIL, f"{missing} when the analysis ended", True
        case NoData.HOLD if is_overdue:
            return Result.FAIL, f"{missing} until the deadline", True
        case NoData.HOLD:
            return Result.INCONCLUSIVE, f"{missing}; waiting for data", False


def _judge_looks(
    rule: analysis.Rule, seen: Sequence[samples.Look], series: Sequence[analysis.Series]
) -> _Judged:
    if rule.strategy.has_control:
        return _three_ways(rule, seen, series)
    return _sequential(rule, seen, series) if _is_sequential(rule) else _judge_singly(rule, seen)


def _is_sequential(rule: analysis.Rule) -> bool:
    return rule.judgement is Judgement.SEQUENTIAL and rule.can_be_sequential


# Each look by itself.


def _judge_singly(rule: analysis.Rule, seen: Sequence[samples.Look]) -> _Judged:
    look_checks = [
        checks.of_look(rule, look, seen[:at], in_words=False) for at, look in enumerate(seen)
    ]
    decided = [at for at, check in enumerate(look_checks) if _counts(rule, check)]
    failed = [at for at in decided if _is_failure(rule, look_checks[at])]
    good = [at for at, check in enumerate(look_checks) if check.result is Result.PASS]
    # Words only where they are shown.
    for at in {*decided[-1:], *failed[-1:], *good[-1:]}:
        look_checks[at] = checks.of_look(rule, seen[at], seen[:at])
    empty = sum(check.is_empty for check in look_checks)
    numbers = dataclasses.replace(
        look_checks[decided[-1] if decided else -1].numbers,
        looks=len(decided),
        failed_looks=len(failed),
        empty_looks=empty,
    )
    is_measured = any(check.result is Result.FAIL for check in look_checks)
    if count_failures(rule, look_checks) > rule.failure_limit:
        sentence = _exceeded(rule, look_checks, look_checks[failed[-1]])
        return _Judged(sentence, is_measured, numbers=numbers)
    if stopped := _unanswered(rule, seen) or _inconclusive(rule, look_checks):
        return _Judged(stopped, is_measured=False, numbers=numbers)
    went = f"{len(failed)} of {phrases.count(len(decided), 'look')} failed"
    latest = f"; the last good one: {look_checks[good[-1]].sentence}" if good else ""
    none_is_good = bool(failed) and not good
    return _Judged(
        missing="no look was good" if none_is_good else _missing(rule, look_checks),
        none_is_good=none_is_good,
        is_measured=is_measured,
        passing=went + latest,
        numbers=numbers,
        # Values too few to be compared in one look are used by those after it.
        covered=len(look_checks) - empty if rule.strategy.compares else len(decided),
        grounds=checks.grounds(rule, seen[good[-1]], seen[: good[-1]]) if good else (),
    )


def _missing(rule: analysis.Rule, look_checks: Sequence[analysis.Check]) -> str:
    """Say why the looks allow no pass; empty: they do."""
    last = look_checks[-1]
    if all(check.result is Result.INCONCLUSIVE for check in look_checks):
        return last.sentence
    if _counts(rule, last) or (last.is_empty and rule.no_data is NoData.PASS):
        return ""
    if rule.inconclusive_limit is not None and _is_neither(last):
        return ""
    return last.sentence


def _unanswered(rule: analysis.Rule, seen: Sequence[samples.Look]) -> str:
    """Say that too many looks in a row were not answered; empty: no more than are allowed."""
    limit = rule.consecutive_error_limit
    if limit is None:
        return ""
    row: list[samples.Look] = []
    for look in seen:
        row = [*row, look] if look.is_error else []
        if len(row) > limit:
            return (
                f"{phrases.count(len(row), 'look')} in a row had no answer, {limit} allowed; "
                f"the last: {look.problem}"
            )
    return ""


def _inconclusive(rule: analysis.Rule, look_checks: Sequence[analysis.Check]) -> str:
    """Say that too many looks were inconclusive; empty: no more than are allowed."""
    limit = rule.inconclusive_limit
    neither = [check for check in look_checks if _is_neither(check)]
    if limit is None or len(neither) <= limit:
        return ""
    return (
        f"{len(neither)} of {phrases.count(len(look_checks), 'look')} were inconclusive, "
        f"{limit} allowed; the last: {neither[-1].sentence}"
    )


def _is_neither(check: analysis.Check) -> bool:
    """Whether there were data, and they said neither."""
    return check.result is Result.INCONCLUSIVE and not check.is_empty


def _counts(rule: analysis.Rule, check: analysis.Check) -> bool:
    return check.result is not Result.INCONCLUSIVE or _is_failure(rule, check)


def _is_failure(rule: analysis.Rule, check: analysis.Check) -> bool:
    return check.result is Result.FAIL or (check.is_empty and rule.no_data is NoData.FAIL)


def count_failures(rule: analysis.Rule, look_checks: Sequence[analysis.Check]) -> int:
    """Count the failed looks as the rule does: all, or the most in a row.

    A look without an answer neither fails nor mends, unless the rule makes it a failure.
    """
    if rule.failure_count is FailureCount.CUMULATIVE:
        return sum(_is_failure(rule, look_check) for look_check in look_checks)
    longest = current = 0
    for check in look_checks:
        if _is_failure(rule, check):
            current += 1
        elif check.result is Result.PASS:
            current = 0
        longest = max(longest, current)
    return longest


def _exceeded(
    rule: analysis.Rule, look_checks: Sequence[analysis.Check], last: analysis.Check
) -> str:
    number = count_failures(rule, look_checks)
    row = " in a row" if rule.failure_count is FailureCount.CONSECUTIVE else ""
    sentence = (
        f"{number} of {phrases.count(len(look_checks), 'look')} failed{row}, "
        f"{rule.failure_limit} allowed; the last: {last.sentence}"
    )
    if rule.strategy.compares and rule.ratio_limit is None and not row:
        chance = binomial.at_least(number, len(look_checks), rule.significance)
        sentence += f"; of healthy releases {clauses.share(chance)} come to this"
    return sentence


# All looks together.


def _sequential(
    rule: analysis.Rule, seen: Sequence[samples.Look], series: Sequence[analysis.Series]
) -> _Judged:
    usable = [look.usable for look in seen if look.usable]
    empty = [look for look in seen if not look.usable]
    tally = analysis.Numbers(looks=len(usable), empty_looks=len(empty))
    if rule.no_data is NoData.FAIL and len(empty) > rule.failure_limit:
        sentence = (
            f"{len(empty)} of {phrases.count(len(seen), 'look')} had no data, "
            f"{rule.failure_limit} allowed; the last: {empty[-1].problem}"
        )
        tally = dataclasses.replace(tally, failed_looks=len(empty))
        return _Judged(sentence, is_measured=False, numbers=tally)
    unanswered = _unanswered(rule, seen)
    if not usable:
        missing = seen[-1].problem
        return _Judged(unanswered, is_measured=False, missing=missing, numbers=tally)
    tested = evidence.measured(rule, usable)
    if rule.slo is not None:
        burn = burn_rates.find(rule, rule.slo, [look for look in seen if look.usable], series)
        is_condemned, numbers, sentence = burn.is_proven, burn.numbers, burn.sentence
        doubt = f"{sentence}; that may be chance" if burn.is_exceeded else ""
    else:
        p_value = evidence.p_value_so_far(rule, usable, tested)
        figured = evidence.comparison_numbers if rule.strategy.compares else evidence.limit_numbers
        numbers = dataclasses.replace(figured(rule, usable, p_value), looks=tally.looks)
        is_condemned = p_value <= rule.significance
        sentence, doubt = _evidence_sentence(rule, usable, numbers), ""
    numbers = dataclasses.replace(numbers, looks=tally.looks, empty_looks=tally.empty_looks)
    if is_condemned:
        return _Judged(condemned=sentence, numbers=numbers)
    if unanswered:
        return _Judged(unanswered, is_measured=False, numbers=numbers)
    missing = doubt or _too_little(rule, usable, tested, sentence)
    if not missing and seen[-1].problem and rule.no_data is not NoData.PASS:
        missing = seen[-1].problem
    return _Judged(
        missing=missing, passing=sentence, numbers=numbers, covered=len(usable), grounds=usable
    )


def _three_ways(
    rule: analysis.Rule, seen: Sequence[samples.Look], series: Sequence[analysis.Series]
) -> _Judged:
    release = _sequential(rule, seen, series)
    if release.condemned and not release.is_measured:
        return release
    change = _sequential(rule, three_ways.beside_primary(seen), series)
    age = _sequential(rule, three_ways.baseline_beside_primary(seen), series)
    decision = three_ways.decide(_finding(release), _finding(change), _finding(age))
    sentences = [one.condemned or one.passing for one in (release, change) if not one.is_empty]
    why = "; ".join([*sentences, decision.reason])
    match decision.result:
        case Result.FAIL:
            chances = (release.numbers.p_value or 0.0, change.numbers.p_value or 0.0)
            numbers = dataclasses.replace(release.numbers, p_value=max(chances))
            return _Judged(condemned=why, numbers=numbers)
        case Result.PASS:
            return dataclasses.replace(release, passing=why)
        case Result.INCONCLUSIVE:
            missing = release.missing or change.missing
            if not missing or release.condemned:
                missing = why
            return dataclasses.replace(release, condemned="", missing=missing)


def _finding(judged: _Judged) -> three_ways.Finding:
    if judged.condemned:
        return three_ways.Finding.WORSE
    return three_ways.Finding.UNKNOWN if judged.missing else three_ways.Finding.ALIKE


def _too_little(
    rule: analysis.Rule, usable: evidence.Blocks, tested: evidence.Measured, sentence: str
) -> str:
    """Say why what was seen could not acquit; empty: it could.

    The `sentence` says what was seen.
    """
    have, want = checks.sample_count(rule, evidence.all_cells(usable)), rule.minimum_samples
    if have < want:
        sides = " on each side" if rule.strategy.compares else ""
        return f"too little to pass: {have} of {phrases.count(want, 'sample')}{sides}"
    if not power.is_enough(burn_rates.lowest_bound(rule), tested, evidence.so_far):
        return clauses.too_little(rule, power.plain(rule, tested), have)
    if evidence.wanders(rule, tested):
        return f"{sentence}; {clauses.WANDERS}"
    return ""


def _evidence_sentence(
    rule: analysis.Rule,
    usable: Sequence[Sequence[samples.Cell]],
    numbers: analysis.Numbers,
) -> str:
    after = f"after {phrases.count(numbers.looks, 'look')}"
    if not rule.strategy.compares:
        return f"{clauses.limited(rule, numbers)} {after}"
    sides = checks.sides(usable[-1][-1])
    return f"{clauses.compared(rule, numbers, sides=sides)} {after}"
