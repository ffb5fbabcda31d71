"""What would have been found: looks that could not have condemned anything acquit of nothing.

A worse release is supposed in looks of the sizes that were, beside what the other side showed,
as bad as nineteen of twenty such releases are at least; then the rule's own test is asked about
it. That of these `POWER` are found, which a test measures: events come unevenly, too.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import NormalDist

from volary.analysis.statistics import binomial, counts, ranks
from volary.analysis.verdicts import evidence
from volary.model import analysis
from volary.model.analysis import Deviation, Kind

#: Of the releases that are so bad, this share is found.
POWER = 0.8
#: Releases whose requests fail this much more often have to be found before one may pass; of
#: rates those with twice as many events, and so many per second more.
_PLAIN_SHARE, _PLAIN_RATE = 0.1, 1.0
#: So many of the releases are as bad as is supposed.
_LEAST = 0.95
_DEVIATIONS = NormalDist().inv_cdf(_LEAST)
#: From this variance on quantiles are the normal distribution's.
_NORMAL_FROM = 1_000.0
_POISSON_TRIALS = 100
#: The smallest difference that is looked for is this part of the plain one, found by halving.
_FINEST, _HALVINGS = 1e-4, 10


def finds(rule: analysis.Rule, seen: evidence.Measured, level: float, test: evidence.Test) -> bool:
    """Say whether a release with that level would have been found, with `POWER`.

    The level is the proportion or the rate of the judged side; of values the share of pairs in
    which it is higher.
    """
    worse = supposed(rule, seen, level)
    return evidence.both_sides(rule, lambda sided: test(sided, worse)) <= rule.significance


def is_enough(rule: analysis.Rule, seen: evidence.Measured, test: evidence.Test) -> bool:
    """Say whether a plainly bad release would have been found, so that another one may pass."""
    return finds(rule, seen, plain(rule, seen), test)


def supposed(rule: analysis.Rule, seen: evidence.Measured, level: float) -> evidence.Measured:
    """Return what most of the releases with that level would have shown at least.

    Every block differs from its other side by as much.
    """
    if seen.ranked:
        return replace(seen, ranked=_supposed_ranks(rule, seen.ranked, level))
    if seen.counted:
        means = [[count.exposure * level for count in look] for look in seen.counted]
        return replace(seen, counted=_drawn(rule, seen.counted, means))
    off = level - _standard(seen.paired)
    firsts = [[pair.first for pair in look] for look in seen.paired]
    means = [
        [pair.first.exposure * max(0.0, pair.second.rate + off) for pair in look]
        for look in seen.paired
    ]
    looks = zip(_drawn(rule, firsts, means), seen.paired, strict=True)
    return replace(
        seen,
        paired=[
            [replace(pair, first=count) for count, pair in zip(*look, strict=True)]
            for look in looks
        ],
    )


def _supposed_ranks(
    rule: analysis.Rule, looks: Sequence[Sequence[ranks.RankSum]], level: float
) -> list[list[ranks.RankSum]]:
    blocks = [block for look in looks for block in look]
    off = _DEVIATIONS * ranks.deviation(blocks, level)
    share = min(0.5, level + off) if is_low(rule) else max(0.5, level - off)
    return [
        [ranks.RankSum(block.first, block.second, share * block.first * block.second)
         for block in look]
        for look in looks
    ]  # fmt: skip


def _drawn(
    rule: analysis.Rule,
    counted: Sequence[Sequence[counts.Count]],
    means: Sequence[Sequence[float]],
) -> list[list[counts.Count]]:
    """Return counts as most of the releases have at least (at most): whole events."""
    mean = sum(map(sum, means))
    exposure = sum(count.exposure for look in counted for count in look)
    part = _events(rule, exposure, mean) / mean if mean else 0.0
    upto = 0.0
    looks = []
    for look, look_means in zip(counted, means, strict=True):
        made = []
        for count, expected in zip(look, look_means, strict=True):
            before, upto = round(upto * part), upto + expected
            events = float(round(upto * part) - before)
            most = count.exposure if rule.kind is Kind.PROPORTION else math.inf
            made.append(counts.Count(min(events, most), count.exposure))
        looks.append(made)
    return looks


def _events(rule: analysis.Rule, exposure: float, mean: float) -> float:
    is_proportion = rule.kind is Kind.PROPORTION
    share = min(1.0, mean / exposure) if is_proportion else 0.0
    variance = mean * (1 - share)
    if variance > _NORMAL_FROM:
        off = _DEVIATIONS * math.sqrt(variance)
        return mean + off if is_low(rule) else mean - off
    trials = max(1, round(exposure)) if is_proportion else _POISSON_TRIALS * math.ceil(mean + 1)
    above = 1 - _LEAST if is_low(rule) else _LEAST
    return binomial.quantile(trials, mean / trials, above)


def _standard(paired: Sequence[Sequence[counts.Pair]]) -> float:
    """Return the other side's rate where the blocks weigh as on the judged side."""
    pairs = [pair for look in paired for pair in look]
    mean = sum(pair.first.exposure * pair.second.rate for pair in pairs)
    return mean / sum(pair.first.exposure for pair in pairs)


def is_low(rule: analysis.Rule) -> bool:
    """Say whether lower than usual is what is worse."""
    if rule.strategy.compares:
        return rule.deviation is Deviation.LOW
    return rule.expected is not None and rule.expected.maximum is None


def usual(rule: analysis.Rule, seen: evidence.Measured) -> float:
    """Return the level of a release that is not worse."""
    if seen.ranked:
        return 0.5
    if seen.counted:
        expected = rule.expected or analysis.Range()
        limit = expected.minimum if is_low(rule) else expected.maximum
        return limit or 0.0
    # Half an event more: none so far does not mean never.
    exposure = sum(pair.second.exposure for look in seen.paired for pair in look)
    return _standard(seen.paired) + 0.5 / (exposure + 1)


def plain(rule: analysis.Rule, seen: evidence.Measured) -> float:
    """Return the level of a release that is plainly bad: one that a pass has to rule out."""
    if seen.ranked:
        return 0.0 if is_low(rule) else 1.0
    level = usual(rule, seen)
    if rule.kind is Kind.RATE:
        return 0.0 if is_low(rule) else 2 * level + _PLAIN_RATE
    return max(0.0, level - _PLAIN_SHARE) if is_low(rule) else min(1.0, level + _PLAIN_SHARE)


def least_found(rule: analysis.Rule, seen: evidence.Measured, test: evidence.Test) -> float | None:
    """Return the least bad level that is found with `POWER`; None: not even a plainly bad one."""
    near, far = usual(rule, seen), plain(rule, seen)
    if not is_enough(rule, seen, test):
        return None
    # Parts of the way from the usual to the plain level.
    missed, found = _FINEST, 1.0
    for _ in range(_HALVINGS):
        part = math.sqrt(missed * found)
        if finds(rule, seen, near + part * (far - near), test):
            found = part
        else:
            missed = part
    return near + found * (far - near)
