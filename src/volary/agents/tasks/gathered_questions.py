"""What tasks ask systems of metrics, on its way to the server: asked together where it is asked at
the same moment, as the clusters of a run do that look in step."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from volary.agents.tasks import services
from volary.analysis.metering import meters
from volary.model import analysis, errors

_Answers = Sequence[analysis.Measurement]
#: Seconds in which questions are gathered.
_SECONDS = 0.02


@dataclass(slots=True)
class _Asked:
    """Who waits for the answer to a question."""

    question: meters.Question
    answered: "asyncio.Future[analysis.Measurement]" = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )


@dataclass(slots=True, eq=False)
class _Batch:
    """Questions that are asked together."""

    asked: list[_Asked] = field(default_factory=list)
    sending: "asyncio.Task[None] | None" = None

    def fits(self, question: meters.Question) -> bool:
        """Say whether one more may be asked with them."""
        is_room = len(self.asked) < services.MOST_QUESTIONS
        return is_room and self.asked[0].question.application == question.application

    def questions(self) -> list[meters.Question]:
        """Return what is asked, each once."""
        found: list[meters.Question] = []
        for one in self.asked:
            if one.question not in found:
                found.append(one.question)
        return found

    @property
    def is_over(self) -> bool:
        """Whether nobody waits for an answer any more."""
        return all(one.answered.done() for one in self.asked)

    def answer(self, questions: Sequence[meters.Question], answers: _Answers) -> None:
        """Give everybody their answer."""
        for one in self.asked:
            if not one.answered.done():
                one.answered.set_result(answers[questions.index(one.question)])

    def fail(self, error: Exception) -> None:
        """Tell everybody that it cannot be asked."""
        for one in self.asked:
            if not one.answered.done():
                one.answered.set_exception(error)


class GatheredQuestions:
    """The questions of all tasks of a process.

    Those of one run to one provider go together, so that nobody waits for a provider that was not
    asked.
    """

    def __init__(self, server: services.Services) -> None:
        self._server = server
        self._waiting: dict[tuple[str, str], _Batch] = {}

    async def ask(self, run: str, question: meters.Question) -> analysis.Measurement:
        """Have the server measure; what goes wrong is an answer."""
        key = (run, question.rule.provider)
        batch = self._waiting.get(key)
        asked = _Asked(question)
        if batch is not None and batch.fits(question):
            batch.asked.append(asked)
        else:
            batch = self._waiting[key] = _Batch([asked])
            # Held by those who wait for it; with the last of them it is broken off.
            batch.sending = asyncio.create_task(self._send(key, batch))  # noqa: TID251 (held)
        try:
            return await asked.answered
        finally:
            if batch.is_over and batch.sending is not None:
                batch.sending.cancel()
                self._close(key, batch)

    def _close(self, key: tuple[str, str], batch: _Batch) -> None:
        """Have others ask by themselves from now on."""
        if self._waiting.get(key) is batch:
            del self._waiting[key]

    async def _send(self, key: tuple[str, str], batch: _Batch) -> None:
        await asyncio.sleep(_SECONDS)
        self._close(key, batch)
        questions = batch.questions()
        try:
            batch.answer(questions, await self._measure(key[0], questions))
        except Exception as error:  # noqa: BLE001 (whoever asked is told)
            batch.fail(error)

    async def _measure(self, run: str, questions: Sequence[meters.Question]) -> _Answers:
        try:
            return await self._server.measure(run, questions)
        except errors.VolaryError as error:
            return [question.failure(str(error)) for question in questions]


@dataclass(frozen=True, slots=True)
class RunMeter:
    """Has the server measure for one run."""

    questions: GatheredQuestions
    run: str

    async def measure(self, question: meters.Question) -> analysis.Measurement:
        """Return what was measured."""
        return await self.questions.ask(self.run, question)
