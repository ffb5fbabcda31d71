"""Reads service level objectives, and refuses those that nothing could ever miss."""

from dataclasses import replace
from datetime import timedelta

from volary.config.decoding import base_sections, readings
from volary.config.stages import metric_sections
from volary.config.text import yaml
from volary.model import analysis, phrases

_SLO = "slo"
_RATES = "burnRates"
#: What is said by an SLO already, with what it says.
_SAID = {
    "kind": analysis.Kind.PROPORTION,
    "judgement": analysis.Judgement.SEQUENTIAL,
    "strategy": analysis.Strategy.THRESHOLD,
}


def with_slo(
    reading: readings.Reading,
    read: metric_sections.Metric,
    rule: analysis.Rule,
    path: yaml.Path,
) -> analysis.Rule:
    """Return the rule with what its SLO implies; what is wrong with it is noted."""
    at = (*path, _SLO)
    if read.slo is None or reading.refuse_in_pipecd(at, _SLO):
        return rule
    slo = base_sections.value_of(analysis.Slo, read.slo)
    for name, value in _SAID.items():
        if name in read.model_fields_set and getattr(read, name) is not value:
            reading.error((*path, name), f"slo implies {value.value}", "remove it")
    if read.expected is not None:
        reading.error((*path, "expected"), "slo says what is allowed", "remove one of the two")
    rule = replace(
        rule,
        kind=analysis.Kind.PROPORTION,
        judgement=analysis.Judgement.SEQUENTIAL,
        strategy=analysis.Strategy.THRESHOLD,
    )
    if slo.objective >= 100:
        message = "leaves no error budget: one failed request would be too many"
        reading.error((*at, "objective"), message, "write less, as 99.9")
        return rule
    if slo.window <= timedelta(0):
        reading.error((*at, "window"), "must be more than 0")
        return rule
    _check_windows(reading, slo, at)
    bounds = slo.burn_rates or slo.bounds(slo.window)
    _check_rates(reading, slo, bounds, at)
    lowest = min(bound.rate for bound in bounds) * slo.budget
    return replace(
        rule,
        slo=slo,
        expected=analysis.Range(maximum=min(1.0, lowest)),
    )


def _check_windows(reading: readings.Reading, slo: analysis.Slo, path: yaml.Path) -> None:
    for i, bound in enumerate(slo.burn_rates):
        here = (*path, _RATES, i)
        if bound.short <= timedelta(0):
            reading.error((*here, "short"), "must be more than 0")
        if bound.short > bound.long:
            reading.error((*here, "short"), "is longer than long", "write a part of long, as 1/12")
        if bound.long > slo.window:
            message = f"is longer than the SLO's {phrases.duration(slo.window)}"
            reading.error((*here, "long"), message)


def _check_rates(
    reading: readings.Reading,
    slo: analysis.Slo,
    bounds: tuple[analysis.BurnRate, ...],
    path: yaml.Path,
) -> None:
    """Note rates that nothing burns at, even when every request fails."""
    most = 1 / slo.budget
    beyond = [bound.rate for bound in bounds if bound.rate >= most]
    if not beyond:
        return
    at = (*path, _RATES) if slo.burn_rates else path
    rates = ", ".join(f"{rate:g}" for rate in beyond)
    message = f"{rates}: when every request fails the budget burns {most:g} times"
    hint = f"write {_RATES} below that"
    (reading.error if len(beyond) == len(bounds) else reading.warn)(at, message, hint)
