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


@dataclass(frozen=True, slots=True)
class Meeting:
    """What a task says to the others of its stage, and whether it is there at all."""

    run: str
    stage: str
    target: str
    #: By topic, as `meeting_values` writes them.
    said: Mapping[str, Any] = field(default_factory=dict)
    is_present: bool = True
    #: The number of what the one who asks has seen; the answer waits a while for something newer.
    seen: int = -1


@dataclass(frozen=True, slots=True)
class Met:
    """Who is there, and what was said, by topic and cluster."""

    #: Of the place where they meet: another one knows nothing of what was said before.
    place: str
    number: int
    members: tuple[str, ...]
    said: Mapping[str, Mapping[str, Any]]


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

    async def report(self, run: str, said: Sequence[Said], *, again: bool) -> None:
        """Keep what tasks said; `again`: some of it may have been kept already."""
        ...

    async def measure(self, run: str, question: meters.Question) -> analysis.Measurement:
        """Ask a system of metrics, which the server has the credentials of."""
        ...

    async def meet(self, meeting: Meeting) -> Met:
        """Say something to the other tasks of a stage, and hear what they say."""
        ...


def write_question(question: meters.Question) -> json.JsonObject:
    """Return a question as a document."""
    document: json.JsonObject = {
        name: msgspec.to_builtins(getattr(question, name)) for name in _SIMPLE
    }
    return {**document, "application": bundles.write_application(question.application)}


def read_question(document: json.JsonObject) -> meters.Question:
    """Return the question of a document.

    Raises:
        LookupError: Something is missing.
        TypeError: It is none.
        ValueError: It is none.
    """
    known = {name: json.convert(document[name], hint) for name, hint in _SIMPLE.items()}
    return meters.Question(application=bundles.read_application(document["application"]), **known)


_SIMPLE: Mapping[str, Any] = {
    name: hint for name, hint in get_type_hints(meters.Question).items() if name != "application"
}
