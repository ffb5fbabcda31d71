"""One look at one rule, judged by itself.

A look that compares may be too small to show anything: three values against three cannot reach
5 % in both directions, whatever they are. Passing such a look would be a silent pass. It takes
as many of the looks before it as it needs instead, each ranked by itself, and says nothing
until there are enough.
"""

from collections.abc import Sequence
from statistics import median

from volary.analysis.statistics import counts
from volary.analysis.verdicts import clauses, evidence, power, samples
from volary.model import analysis, phrases
from volary.model.analysis import Deviation, Kind, Result


def check(
    rule: analysis.Rule, measurements: Sequence[analysis.Measurement], *, target: str = ""
) -> analysis.Check:
    """Judge the measurements of one moment on one cluster; there has to be at least one.

    Raises:
        ValueError: there is no measurement.
    """
    time = max(measurement.time for measurement in measurements)
    cell = samples.cell(rule, measurements, target=target)
    return of_look(rule, samples.Look(time, (cell,)))


def of_look(
    rule: analysis.Rule,
    look: samples.Look,
    earlier: Sequence[samples.Look] = (),
    *,
    in_words: bool = True,
) -> analysis.Check:
    """Judge a look over one cluster or many; `earlier` are those before it, in their order.

    Not `in_words`: comparisons and values in a range leave out the sentence and the numbers, which
    cost most.
    """
    if look.problem:
        return analysis.Check(
            Result.INCONCLUSIVE, look.problem, look.time, is_empty=True, is_error=look.is_error
        )
    if rule.strategy.compares:
        return _compared(rule, look, earlier, in_words=in_words)
    if rule.has_conditions:
        return _of_conditions(rule, look)
    if rule.kind is Kind.VALUE:
        return _in_range(rule, look, in_words=in_words)
    return _rate_in_range(rule, look, earlier)


def _thin(look: samples.Look, have: int, want: str) -> analysis.Check:
    sentence = f"too few samples to say anything: {have} of {want}"
    return analysis.Check(Result.INCONCLUSIVE, sentence, look.time)


def _in_range(rule: analysis.Rule, look: samples.Look, *, in_words: bool) -> analysis.Check:
    """Hold every value of one cluster, or the middle one of many clusters, to the range."""
    cells = look.usable
    values = [value for cell in cells for value in cell.judged.values]
    if len(values) < rule.minimum_samples:
        return _thin(look, len(values), phrases.count(rule.minimum_samples, "value"))
    judged = values
    if len(cells) > 1:
        judged = [median(median(cell.judged.values) for cell in cells)]
    # Of one cluster its own, where its history makes it.
    own = cells[0].expected if len(cells) == 1 else None
    expected = own or clauses.expected_range(rule)
    outside = [value for value in judged if value not in expected]
    if not in_words:
        return analysis.Check(Result.FAIL if outside else Result.PASS, "", look.time)
    numbers = analysis.Numbers(samples=len(values), value=outside[0] if outside else median(judged))
    if not outside:
        sentence = f"{clauses.number(numbers.value)} is within the expected {expected}"
        return analysis.Check(Result.PASS, sentence, look.time, numbers=numbers)
    sentence = f"{clauses.number(outside[0])} is outside the expected {expected}"
    if len(outside) > 1:
        sentence += f", and so are {phrases.count(len(outside) - 1, 'further value')}"
    notes = [cell.judged.note for cell in cells if cell.judged.note]
    if len(cells) == 1 and notes:
        sentence += f": {notes[0]}"
    return analysis.Check(Result.FAIL, sentence, look.time, numbers=numbers)


def _of_conditions(rule: analysis.Rule, look: samples.Look) -> analysis.Check:
    """Go by the conditions on one cluster, or by what they say on most of many."""
    cells = look.usable
    values = [value for cell in cells for value in cell.judged.values]
    if len(values) < rule.minimum_samples:
        return _thin(look, len(values), phrases.count(rule.minimum_samples, "value"))
    outcomes = [cell.condition for cell in cells if cell.condition is not None]
    results = [outcome.result for outcome in outcomes]
    # The most frequent one; of two that are alike the worse.
    order = (Result.FAIL, Result.INCONCLUSIVE, Result.PASS)
    result = max(order, key=lambda each: (results.count(each), -order.index(each)))
    sentence = next(outcome.sentence for outcome in outcomes if outcome.result is result)
    if len(outcomes) > 1:
        sentence += f", on {results.count(result)} of {len(outcomes)} clusters"
    numbers = analysis.Numbers(samples=len(values), value=median(values))
    return analysis.Check(result, sentence, look.time, numbers=numbers)


def _rate_in_range(
    rule: analysis.Rule, look: samples.Look, earlier: Sequence[samples.Look]
) -> analysis.Check:
    cells = evidence.all_cells(window(rule, look, earlier))
    samples = sample_count(rule, cells)
    if samples < rule.minimum_samples:
        return _thin(look, samples, phrases.count(rule.minimum_samples, "sample"))
    value = counts.total([cell.judged.count for cell in cells]).rate
    expected = clauses.expected_range(rule)
    is_inside = value in expected
    if is_inside and (missing := _too_little(rule, [cells])):
        return analysis.Check(Result.INCONCLUSIVE, missing, look.time)
    place = "within" if is_inside else "outside"
    return analysis.Check(
        Result.PASS if is_inside else Result.FAIL,
        f"{clauses.amount(rule, value)} is {place} the expected {expected}",
        look.time,
        numbers=analysis.Numbers(samples=samples, value=value),
    )


def _compared(
    rule: analysis.Rule, look: samples.Look, earlier: Sequence[samples.Look], *, in_words: bool
) -> analysis.Check:
    if rule.kind is Kind.VALUE and rule.ratio_limit is not None:
        return _medians(rule, look)
    taken = window(rule, look, earlier)
    cells = evidence.all_cells(taken)
    have, want = sample_count(rule, cells), rule.minimum_samples
    if have < want:
        return _thin(look, have, phrases.count(want, "sample") + " on each side")
    p_value = evidence.p_value(rule, taken)
    result = Result.FAIL if p_value <= rule.significance else Result.PASS
    if result is Result.PASS and (missing := _too_little(rule, taken)):
        return analysis.Check(Result.INCONCLUSIVE, missing, look.time)
    if not in_words:
        return analysis.Check(result, "", look.time)
    numbers = evidence.comparison_numbers(rule, taken, p_value)
    sentence = clauses.compared(rule, numbers, sides=sides(cells[-1]))
    if len(taken) > 1:
        sentence += f", over {len(taken)} looks"
    return analysis.Check(result, sentence, look.time, numbers=numbers)


def _too_little(rule: analysis.Rule, taken: evidence.Blocks) -> str:
    """Say that a plainly bad release could have looked the same; empty: it could not."""
    seen = evidence.measured(rule, taken)
    if power.is_enough(rule, seen, evidence.at_once):
        return ""
    have = sample_count(rule, evidence.all_cells(taken))
    return clauses.too_little(rule, power.plain(rule, seen), have)


def window(
    rule: analysis.Rule, look: samples.Look, earlier: Sequence[samples.Look]
) -> list[tuple[samples.Cell, ...]]:
    """Return the cells to judge: this look's, and of as many before it as it takes."""
    taken = [look.usable]
    for before in reversed(earlier):
        is_enough = sample_count(rule, evidence.all_cells(taken)) >= rule.minimum_samples
        if is_enough and not _too_little(rule, taken):
            break
        if before.usable:
            taken.insert(0, before.usable)
    return taken


def grounds(
    rule: analysis.Rule, look: samples.Look, earlier: Sequence[samples.Look]
) -> evidence.Blocks:
    """Return what a good look was tested on; empty: it was held to a threshold of values."""
    is_plain = not rule.strategy.compares or rule.ratio_limit is not None
    return () if rule.kind is Kind.VALUE and is_plain else window(rule, look, earlier)


def sample_count(rule: analysis.Rule, cells: Sequence[samples.Cell]) -> int:
    """Count points, requests or looks of the side that has fewer."""
    return min(
        _side_samples(rule, [cell.judged for cell in cells]),
        _side_samples(rule, [cell.reference for cell in cells])
        if rule.strategy.compares
        else 1 << 62,
    )


def _side_samples(rule: analysis.Rule, side_samples: Sequence[samples.Sample]) -> int:
    match rule.kind:
        case Kind.VALUE:
            return sum(len(sample.values) for sample in side_samples)
        case Kind.PROPORTION:
            return round(sum(sample.count.exposure for sample in side_samples))
        case Kind.RATE:
            return len(side_samples)


def sides(cell: samples.Cell) -> tuple[str, str]:
    """Name both sides as people know them."""
    return cell.judged.variant, cell.reference.variant


def _medians(rule: analysis.Rule, look: samples.Look) -> analysis.Check:
    """Hold the ratio of the medians to its limit: no test, as with any threshold."""
    cells = look.usable
    have = sample_count(rule, cells)
    if have < rule.minimum_samples:
        wanted = phrases.count(rule.minimum_samples, "value") + " on each side"
        return _thin(look, have, wanted)
    value = median(median(cell.judged.values) for cell in cells)
    reference = median(median(cell.reference.values) for cell in cells)
    limit = rule.ratio_limit or 1.0
    is_bad = _exceeds(value, reference, limit, rule.deviation)
    judged, other = sides(cells[0])
    ratio = value / reference if reference else None
    times = "" if ratio is None else f", {clauses.number(ratio)} times"
    sentence = (
        f"{judged} has a median of {clauses.number(value)}, {other} "
        f"{clauses.number(reference)}{times}, where {_allowed(limit, rule.deviation)}"
    )
    numbers = analysis.Numbers(
        samples=sum(len(cell.judged.values) for cell in cells),
        reference_samples=sum(len(cell.reference.values) for cell in cells),
        value=value,
        reference=reference,
        effect=ratio,
    )
    return analysis.Check(
        Result.FAIL if is_bad else Result.PASS, sentence, look.time, numbers=numbers
    )


def _exceeds(value: float, reference: float, limit: float, deviation: Deviation) -> bool:
    match deviation:
        case Deviation.HIGH:
            return value > limit * reference
        case Deviation.LOW:
            return value < limit * reference
        case Deviation.EITHER:
            ratio = max(limit, 1 / limit)
            return value > ratio * reference or value * ratio < reference


def _allowed(limit: float, deviation: Deviation) -> str:
    match deviation:
        case Deviation.HIGH:
            return f"at most {limit:g} times is allowed"
        case Deviation.LOW:
            return f"at least {limit:g} times is expected"
        case Deviation.EITHER:
            ratio = max(limit, 1 / limit)
            return f"{1 / ratio:.3g} to {ratio:g} times is allowed"
