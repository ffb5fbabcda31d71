"""Who measures: the one interface between stages that judge and systems that keep metrics."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from volary.analysis.metering import query_names
from volary.model import analysis, applications
from volary.model.pipeline import variant


@dataclass(frozen=True, slots=True)
class Question:
    """One query for one side of a look."""

    rule: analysis.Rule
    application: applications.Application
    #: Name of the cluster in the fleet.
    target: str
    #: Of what belongs to the application there.
    names: query_names.Names
    #: Whose numbers.
    side: variant.Variant
    role: analysis.Role
    #: The look it belongs to.
    time: datetime
    #: The moment the interval ends that is asked about; `time`, but for an earlier release and
    #: where data come late.
    until: datetime
    #: Of the release; empty: there is none, the metric is tried out.
    run: str = ""
    commit: str = ""
    #: `until` is not now.
    is_past: bool = False
    #: How much before `until` it is about; None: an interval of the rule.
    window: timedelta | None = None

    @property
    def is_earlier(self) -> bool:
        """Whether it is asked about another time than now."""
        return self.is_past or self.until != self.time

    def answer(
        self,
        query: str,
        values: tuple[float, ...] = (),
        totals: tuple[float, ...] = (),
    ) -> analysis.Measurement:
        """Return the measurement of an answer."""
        if not values:
            return self.nothing(query, "no data")
        return self.measurement(query, analysis.Reading.VALUES, "", values, totals)

    def nothing(self, query: str, message: str) -> analysis.Measurement:
        """Return the measurement of an answer with nothing in it."""
        return self.measurement(query, analysis.Reading.NO_DATA, message)

    def failure(self, message: str, query: str = "") -> analysis.Measurement:
        """Return the measurement of a query that was not answered, or not readably."""
        return self.measurement(query or self.rule.query, analysis.Reading.ERROR, message)

    def measurement(
        self,
        query: str,
        reading: analysis.Reading,
        message: str,
        values: tuple[float, ...] = (),
        totals: tuple[float, ...] = (),
    ) -> analysis.Measurement:
        """Return what an answer says, with whom and what it was asked about."""
        shown = self.side.value
        if (
            self.rule.strategy is analysis.Strategy.PREVIOUS
            and self.role is analysis.Role.REFERENCE
        ):
            shown = "previous"
        if self.rule.strategy is analysis.Strategy.NOT_UPDATED:
            is_new = self.role is analysis.Role.JUDGED
            shown = "updated" if is_new else "not updated"
        return analysis.Measurement(
            metric=self.rule.name,
            query=query,
            time=self.time,
            target=self.target,
            variant=shown,
            role=self.role,
            values=values,
            totals=totals,
            reading=reading,
            message=message,
        )


class Meter(Protocol):
    """Answers questions; whatever goes wrong is in the answer, nothing is raised."""

    async def measure(self, question: Question) -> analysis.Measurement:
        """Ask and return the answer."""
        ...


class NoMeter:
    """Where no metrics are kept."""

    async def measure(self, question: Question) -> analysis.Measurement:
        """Say so."""
        return question.failure("the settings have no analysisProviders to query")
