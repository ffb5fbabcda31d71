"""Numbers in words: the clauses that checks and verdicts are made of."""

from collections.abc import Sequence

from volary.model import analysis
from volary.model.analysis import Kind


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
    allowed = "" if rule.ratio_limit is None else f", {number(rule.ratio_limit)} times is allowed"
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
