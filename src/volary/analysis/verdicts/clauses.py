"""Numbers in words: the clauses that checks and verdicts are made of."""

from collections.abc import Sequence
from datetime import timedelta

from volary.model import analysis, phrases
from volary.model.analysis import Kind

#: `power.POWER`, as it is said.
_POWER = "80 %"
_DAY = timedelta(days=1)


def number(value: float | None) -> str:
    """Write a value with as many digits as say something."""
    return "–" if value is None else f"{value:.4g}"


def share(value: float | None) -> str:
    """Write a share of one as a percentage."""
    if value is None:
        return "–"
    percent = 100 * value
    return f"{percent:.2f} %" if percent < 1 else f"{percent:.1f} %"


def amount(rule: analysis.Rule, value: float | None) -> str:
    """Write what a rule of this kind measures."""
    match rule.kind:
        case Kind.PROPORTION:
            return share(value)
        case Kind.RATE:
            return f"{number(value)} per second"
        case Kind.VALUE:
            return number(value)


def chance(p_value: float | None) -> str:
    """Write a p-value."""
    if p_value is None:
        return "p unknown"
    return "p < 0.0001" if p_value < 0.0001 else f"p = {p_value:.2g}"


def compared(rule: analysis.Rule, numbers: analysis.Numbers, *, sides: tuple[str, str]) -> str:
    """Say how both sides stand: their levels, the effect, and how certain it is."""
    judged, reference = sides
    if rule.kind is Kind.VALUE:
        levels = (
            f"{judged} has a median of {number(numbers.value)} ({numbers.samples} values), "
            f"{reference} {number(numbers.reference)} ({numbers.reference_samples})"
        )
        effect = (
            f"{judged} is higher in {share(numbers.effect)} of the pairs "
            f"({share(numbers.effect_low)} to {share(numbers.effect_high)})"
        )
    else:
        levels = (
            f"{judged} has {amount(rule, numbers.value)} ({_sampled(rule, numbers.samples)}), "
            f"{reference} {amount(rule, numbers.reference)} ({numbers.reference_samples})"
        )
        effect = _times(numbers)
    ratio = rule.allowed_ratio
    allowed = "" if ratio == 1 else f", {number(ratio)} times is allowed"
    return f"{levels}; {effect}{allowed}, {chance(numbers.p_value)}"


def _sampled(rule: analysis.Rule, samples: int) -> str:
    noun = "requests" if rule.kind is Kind.PROPORTION else "looks"
    return f"{samples} {noun}"


def _times(numbers: analysis.Numbers) -> str:
    above = "more" if numbers.effect_high is None else number(numbers.effect_high)
    reach = f"({number(numbers.effect_low)} to {above})"
    if numbers.effect is None:
        return f"no ratio, as the other side has none {reach}"
    return f"{number(numbers.effect)} times as many {reach}"


def limited(rule: analysis.Rule, numbers: analysis.Numbers) -> str:
    """Say how a count stands against its limit."""
    expected = str(expected_range(rule))
    return (
        f"{amount(rule, numbers.value)} of {_sampled(rule, numbers.samples)} "
        f"where {expected} is expected, {chance(numbers.p_value)}"
    )


def span(length: timedelta) -> str:
    """Write a length of time in days where it is one at least."""
    if length < _DAY:
        return phrases.duration(length)
    return f"{length / _DAY:.3g} days" if length != _DAY else "1 day"


def too_little(rule: analysis.Rule, level: float, have: int) -> str:
    """Say that not even a plainly bad release, with that level, had to be seen."""
    side = "on the smaller side" if rule.strategy.compares else "in all"
    if rule.kind is Kind.VALUE:
        return f"too little to show any difference: {have} {side}"
    return f"too little to show even {amount(rule, level)}: {have} {side}"


#: Why what looks worse is neither condemned nor passed.
WANDERS = (
    "but this metric wanders as slowly as the analysis is long, so that may be its weather: "
    "measure longer, or compare what wanders less"
)


def would_be_found(rule: analysis.Rule, numbers: analysis.Numbers) -> str:
    """Say what a pass rules out; empty: nothing was tested."""
    level = numbers.detectable
    if level is None:
        return ""
    if rule.kind is not Kind.VALUE:
        return f"; {amount(rule, level)} would have been found with {_POWER}"
    higher = "lower" if level < 0.5 else "higher"
    pairs = share(max(level, 1 - level))
    return f"; {higher} in {pairs} of the pairs would have been found with {_POWER}"


def expected_range(rule: analysis.Rule) -> analysis.Range:
    """Return the range of a rule; without one every value is expected."""
    return rule.expected or analysis.Range()


def subject(rule: analysis.Rule, targets: Sequence[str]) -> str:
    """Name the metric and where it was measured."""
    named = [target for target in targets if target]
    match named:
        case []:
            return rule.name
        case [target]:
            return f"{rule.name} on {target}"
        case _:
            return f"{rule.name} over {len(named)} clusters"
