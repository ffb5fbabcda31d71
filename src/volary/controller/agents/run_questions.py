"""What runs may ask systems of metrics, which never changes: it follows from their stages."""

import dataclasses
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field

from volary.analysis.metering import meters
from volary.concurrency import single_flight
from volary.controller import refusals
from volary.engine.persistence import codec
from volary.engine.runs import state
from volary.model import analysis
from volary.stages.judgement import in_flight
from volary.store import stores

#: Runs of which that is kept; of another one it is found out again.
_MOST_RUNS = 2_000


@dataclass(frozen=True, slots=True)
class Questions:
    """What the stages of one run may ask."""

    application: str
    targets: frozenset[str]
    #: What decides what is asked, and whom.
    queries: frozenset[tuple[str, ...]]

    def has(self, question: meters.Question) -> bool:
        """Say whether a stage asks that, on whatever cluster."""
        is_same = question.application.name == self.application
        return is_same and _query(question.rule) in self.queries


@dataclass(slots=True)
class RunQuestions:
    """Finds out what runs may ask, once for each."""

    store: stores.Store
    _known: OrderedDict[str, Questions] = field(default_factory=OrderedDict)
    _reading: single_flight.SingleFlight = field(default_factory=single_flight.SingleFlight)

    async def of(self, run_id: str) -> Questions:
        """Return what a run may ask.

        Raises:
            refusals.NotFound: There is no such run.
            errors.PermanentError: What is stored of it cannot be read.
        """
        while run_id not in self._known:
            await self._reading.do(run_id, "", lambda: self._read(run_id))
        self._known.move_to_end(run_id)
        return self._known[run_id]

    async def _read(self, run_id: str) -> None:
        stored = refusals.required(await self.store.runs.load(run_id), "run", run_id)
        self._known[run_id] = _questions(codec.read_run(stored))
        while len(self._known) > _MOST_RUNS:
            self._known.popitem(last=False)


def _questions(run: state.Run) -> Questions:
    rules = [rule for stage in run.stages for rule in _rules_in(stage.stage)]
    if any(stage.stage.kind.removes for stage in run.stages):
        providers = {rule.provider for rule in rules} | {""}
        rules += [in_flight.rule_for(provider) for provider in providers]
    return Questions(run.application, frozenset(run.targets), frozenset(map(_query, rules)))


def _rules_in(value: object) -> Iterator[analysis.Rule]:
    """Find the rules in a stage's options, wherever they are."""
    if isinstance(value, analysis.Rule):
        yield value
    elif dataclasses.is_dataclass(value):
        for each in dataclasses.fields(value):
            yield from _rules_in(getattr(value, each.name))
    elif isinstance(value, tuple):
        for inner in value:
            yield from _rules_in(inner)


def _query(rule: analysis.Rule) -> tuple[str, ...]:
    """Return what of a rule decides what is asked, and whom."""
    return (rule.name, rule.provider, rule.query, rule.total_query, rule.built_in)
