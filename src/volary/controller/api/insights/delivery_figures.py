"""The four figures of delivery, counted over runs that have ended. Pure.

A *release* brings a commit to an application's clusters; moves between clusters and clusters that
catch up are none. What was cancelled, superseded or abandoned says nothing about the release, so
it counts neither as delivered nor as failed, and nothing that never began counts.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import fmean, median

from volary.controller.api import insight_representations
from volary.controller.status import run_requests
from volary.model import statuses
from volary.store import records

#: Points of a figure, the newest.
_MOST_POINTS = 500
_DAY = timedelta(days=1)
_FAILED = (statuses.RunStatus.FAILED, statuses.RunStatus.ROLLED_BACK)
_RELEASE = run_requests.KindName.RELEASE.value
_ROLLBACKS = tuple(kind.value for kind in run_requests.KindName if kind.is_rollback)

FREQUENCY = (
    "releases that succeeded, with or without exceptions, for each day (UTC): the mean, the median "
    "and the 90th percentile of the days"
)
LEAD_TIME = (
    "from the moment the controller saw a commit first to the end of the first run that brought it "
    "to its last cluster: the mean, the median and the 90th percentile"
)
FAILURE_RATE = (
    "releases that failed, were rolled back, or were taken back by a rollback before the next "
    "release, of all releases that ended as succeeded, failed or rolled back; those cancelled, "
    "superseded or abandoned do not count"
)
RESTORE = (
    "from a release's failure (of one that was taken back: from the request to do so) to the end "
    "of the next release or rollback of the application that succeeded; failures in a row are one"
)


@dataclass(frozen=True, slots=True)
class Failure:
    """A time in which an application was on a release that failed, or that was taken back."""

    #: The run that failed first.
    run: records.EndedRun
    begins: datetime
    #: None: nothing has succeeded since.
    restored: datetime | None


def first_day(until: datetime, days: int) -> datetime:
    """Return when the first of so many days begins, the last of which is that of `until`."""
    today = until.replace(hour=0, minute=0, second=0, microsecond=0)
    return today - (days - 1) * _DAY


def count(
    ended: Sequence[records.EndedRun],
    since: datetime,
    until: datetime,
    *,
    project: str = "",
    application: str = "",
    omitted: int = 0,
) -> insight_representations.Insights:
    """Return the figures of runs that ended from `since` until `until`.

    Args:
        ended: The runs, of all kinds, in the order they ended.
        since: Midnight of the first day.
        until: Now.
        project: What it was asked for, as shown.
        application: Likewise.
        omitted: Runs that were not read because there are too many.
    """
    begun = [run for run in ended if run.started is not None and since <= run.finished <= until]
    by_application: dict[str, list[records.EndedRun]] = {}
    for run in begun:
        by_application.setdefault(run.application, []).append(run)
    delivered = [run for run in begun if _is_delivered(run)]
    days = _per_day(delivered, since, until)
    failures = [each for runs in by_application.values() for each in failures_of(runs)]
    return insight_representations.Insights(
        since,
        until,
        project,
        application,
        runs=len(begun),
        days=days,
        figures=(
            _frequency(delivered, days),
            _lead_time(delivered),
            _failure_rate(by_application.values()),
            _restore(failures),
        ),
        omitted=omitted,
    )


def _is_release(run: records.EndedRun) -> bool:
    return run.kind in ("", _RELEASE)


def _is_good(run: records.EndedRun) -> bool:
    return run.status in statuses.GOOD_ENDS


def _is_delivered(run: records.EndedRun) -> bool:
    return _is_release(run) and _is_good(run)


# Failures.


def taken_back(runs: Sequence[records.EndedRun]) -> Mapping[str, records.EndedRun]:
    """Return the releases of an application that were taken back, each with the rollback.

    That is the last release that succeeded before the rollback was asked for.
    """
    taken: dict[str, records.EndedRun] = {}
    for place, run in enumerate(runs):
        if run.kind not in _ROLLBACKS or not _is_good(run):
            continue
        before = [
            earlier
            for earlier in runs[:place]
            if _is_delivered(earlier) and earlier.finished <= run.created
        ]
        if before:
            taken.setdefault(before[-1].id, run)
    return taken


def failures_of(runs: Sequence[records.EndedRun]) -> Iterator[Failure]:
    """Yield the failures of one application, whose runs are in the order they ended."""
    taken = taken_back(runs)
    failed: records.EndedRun | None = None
    begins: datetime | None = None
    for run in runs:
        if _is_release(run) and run.status is statuses.RunStatus.ROLLED_BACK:
            # What ran before is back, so this one has been restored by itself.
            first, since = failed or run, begins or run.rolled_back_from or run.finished
            yield Failure(first, since, run.finished)
            failed = begins = None
        elif _is_release(run) and run.status is statuses.RunStatus.FAILED:
            failed, begins = failed or run, begins or run.finished
        elif _is_good(run) and (_is_release(run) or run.kind in _ROLLBACKS):
            if failed is not None and begins is not None:
                yield Failure(failed, begins, run.finished)
            failed = begins = None
            if run.id in taken:
                failed, begins = run, taken[run.id].created
    if failed is not None and begins is not None:
        yield Failure(failed, begins, None)


# The figures.


def _per_day(
    delivered: Iterable[records.EndedRun], since: datetime, until: datetime
) -> tuple[int, ...]:
    counts = Counter((run.finished - since) // _DAY for run in delivered)
    return tuple(counts[day] for day in range((until - since) // _DAY + 1))


def _frequency(
    delivered: Sequence[records.EndedRun], days: Sequence[int]
) -> insight_representations.Distribution:
    points = [_point(run, run.finished, 1.0) for run in delivered]
    return _figure(
        "deploymentFrequency",
        FREQUENCY,
        "perDay",
        points,
        value=len(delivered) / len(days),
        median=float(median(days)),
        high=percentile(days, 0.9),
    )


def _lead_time(delivered: Sequence[records.EndedRun]) -> insight_representations.Distribution:
    first: dict[tuple[str, str], records.EndedRun] = {}
    for run in delivered:
        first.setdefault((run.application, run.commit), run)
    points = [
        _point(run, run.finished, max(0.0, (run.finished - run.seen).total_seconds()))
        for run in first.values()
        if run.seen is not None
    ]
    return _spread("leadTime", LEAD_TIME, points)


def _failure_rate(
    applications: Iterable[Sequence[records.EndedRun]],
) -> insight_representations.Distribution:
    points = []
    for runs in applications:
        taken = taken_back(runs)
        for run in filter(_is_release, runs):
            if run.status in _FAILED or _is_good(run):
                is_bad = run.status in _FAILED or run.id in taken
                points.append(_point(run, run.finished, float(is_bad)))
    points.sort(key=lambda point: (point.at, point.run))
    rate = fmean(point.value for point in points) if points else None
    return _figure("changeFailureRate", FAILURE_RATE, "ratio", points, value=rate)


def _restore(failures: Iterable[Failure]) -> insight_representations.Distribution:
    points = [
        _point(each.run, each.begins, max(0.0, (each.restored - each.begins).total_seconds()))
        for each in failures
        if each.restored is not None
    ]
    points.sort(key=lambda point: (point.at, point.run))
    return _spread("timeToRestore", RESTORE, points)


def _point(run: records.EndedRun, at: datetime, value: float) -> insight_representations.RunPoint:
    return insight_representations.RunPoint(run.id, run.application, at, value)


def _spread(
    name: str, definition: str, points: Sequence[insight_representations.RunPoint]
) -> insight_representations.Distribution:
    values = [point.value for point in points]
    if not values:
        return _figure(name, definition, "seconds", points)
    return _figure(
        name,
        definition,
        "seconds",
        points,
        value=fmean(values),
        median=float(median(values)),
        high=percentile(values, 0.9),
    )


def _figure(
    name: str,
    definition: str,
    unit: str,
    points: Sequence[insight_representations.RunPoint],
    *,
    value: float | None = None,
    median: float | None = None,
    high: float | None = None,
) -> insight_representations.Distribution:
    return insight_representations.Distribution(
        name,
        definition,
        unit,
        value,
        median,
        high,
        tuple(points[-_MOST_POINTS:]),
        max(0, len(points) - _MOST_POINTS),
    )


def percentile(values: Sequence[float], share: float) -> float:
    """Return the least of the values that so large a share of them does not exceed.

    Raises:
        ValueError: There are no values.
    """
    if not values:
        raise ValueError("there are no values")
    ordered = sorted(values)
    return float(ordered[max(0, math.ceil(share * len(ordered)) - 1)])
