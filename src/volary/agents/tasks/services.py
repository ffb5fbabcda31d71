"""What the tasks of an agent ask the server for: words, and who answers.

The server answers for the clusters of the agent alone, and only about runs that have one of them as
a target.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, get_type_hints

import msgspec

from volary.agents.tasks import bundles
from volary.analysis.metering import meters
from volary.engine.observers import feed
from volary.model import analysis, json
from volary.stages.runtime import task_states

#: What a task says that is kept by the server.
Said = feed.TaskLogged | feed.TaskFinding | feed.TaskTookOver
#: Items that are sent at once.
MOST_SAID = 200
#: Stages that are spoken of and heard for at once.
MOST_MEETINGS = 5_000
#: Questions that are asked at once.
MOST_QUESTIONS = 100


@dataclass(frozen=True, slots=True)
class Report:
    """What tasks of one run said."""

    run: str
    said: tuple[Said, ...]
    #: Some of it may have been kept already.
    again: bool = False


@dataclass(frozen=True, slots=True)
class Meeting:
    """What tasks of one stage in one process say to the others, and what they have heard."""

    run: str
    stage: str
    #: By cluster and topic, as `meeting_values` writes them; who says something, or nothing, comes.
    said: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    #: Who is there no more.
    left: tuple[str, ...] = ()
    #: Who is there still, if it is, and hears.
    listening: tuple[str, ...] = ()
    #: Of where they met before, and the number up to which all was heard; empty: nowhere.
    place: str = ""
    seen: int = 0


@dataclass(frozen=True, slots=True)
class Word:
    """Something that was said."""

    topic: str
    target: str
    #: Of the place when it was said.
    number: int
    #: As `meeting_values` writes it.
    value: Any


@dataclass(frozen=True, slots=True)
class Met:
    """Who is there, and what was said that was not heard before."""

    #: Of the place where they meet: another one knows nothing of what was said before.
    place: str = ""
    number: int = 0
    #: With the number of when they came.
    members: Mapping[str, int] = field(default_factory=dict)
    said: tuple[Word, ...] = ()
    #: Why they do not meet here, one sentence; empty: they do.
    trouble: str = ""
    #: Nor do they anywhere else.
    is_refused: bool = False


class Services(Protocol):
    """Answers tasks.

    Each may raise `errors.TemporaryError` where no server answers now, and
    `errors.PermanentError` where the server refuses.
    """

    async def artifact(self, digest: str, target: str) -> bytes:
        """Return the bytes of an artifact for a cluster."""
        ...

    async def admit(self, place: task_states.TaskAttempt) -> None:
        """Agree that a task is carried out; without a stage: what follows the end of its run."""
        ...

    async def load(self, place: task_states.TaskAttempt) -> json.JsonObject:
        """See `task_states.TaskStateStore`."""
        ...

    async def save(self, place: task_states.TaskAttempt, document: json.JsonObject) -> None:
        """See `task_states.TaskStateStore`."""
        ...

    async def found(self, place: task_states.TaskAttempt) -> Sequence[json.JsonObject]:
        """See `task_states.TaskStateStore`."""
        ...

    async def recall(self, run: str, target: str, name: str) -> json.JsonObject:
        """See `task_states.TaskStateStore`; of the application of a run."""
        ...

    async def keep(self, run: str, target: str, name: str, document: json.JsonObject) -> None:
        """See `task_states.TaskStateStore`; of the application of a run."""
        ...

    async def report(self, reports: Sequence[Report]) -> Sequence[str]:
        """Keep what tasks said; return why that of each is refused, empty: it is kept."""
        ...

    async def measure(
        self, run: str, questions: Sequence[meters.Question]
    ) -> Sequence[analysis.Measurement]:
        """Ask a system of metrics, which the server has the credentials of; answers in order.

        All questions are about the same application.
        """
        ...

    async def meet(self, meetings: Sequence[Meeting], *, wait: float = 0.0) -> Sequence[Met]:
        """Say something to the other tasks of stages, and hear what they say; answers in order.

        With `wait` the answer is waited for up to so many seconds, until others have said something
        at any of them.
        """
        ...


def write_questions(questions: Sequence[meters.Question]) -> json.JsonObject:
    """Return questions about one application as a document."""
    return {
        "application": bundles.write_application(questions[0].application),
        "questions": [
            {name: msgspec.to_builtins(getattr(question, name)) for name in _SIMPLE}
            for question in questions
        ],
    }


def read_questions(document: json.JsonObject) -> list[meters.Question]:
    """Return the questions of a document.

    Raises:
        LookupError: Something is missing.
        TypeError: They are none.
        ValueError: They are none.
    """
    application = bundles.read_application(document["application"])
    return [
        meters.Question(
            application=application,
            **{name: json.convert(asked[name], hint) for name, hint in _SIMPLE.items()},
        )
        for asked in document["questions"]
    ]


_SIMPLE: Mapping[str, Any] = {
    name: hint for name, hint in get_type_hints(meters.Question).items() if name != "application"
}
