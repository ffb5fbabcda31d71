"""The errors somebody reacts to, drawn as a tree, and the problems that users are told of.

A problem says what is wrong in something a user wrote, where, and what to do about it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum


class Severity(StrEnum):
    """How much a problem matters: an error stops the work, a warning is only shown."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Location:
    """A place in a user's file; every part may be unknown."""

    #: As the user would name it, usually relative to the repository.
    file: str = ""
    #: Counted from 1; 0 when unknown.
    line: int = 0
    #: Dotted path inside the document, such as ``spec.pipeline.stages[2].with.replicas``.
    path: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.file and self.line else self.file
        return f"{place}: {self.path}" if place and self.path else place or self.path


NOWHERE = Location()


@dataclass(frozen=True, slots=True)
class Problem:
    """One finding, worded for the person who has to mend it."""

    #: One sentence, no full stop.
    message: str
    where: Location = NOWHERE
    #: What to do; empty when nothing better than the message can be said.
    hint: str = ""
    severity: Severity = Severity.ERROR
    #: It is no mistake: somebody holds back what the file is about until this is removed.
    holds: bool = False

    def __str__(self) -> str:
        text = f"{self.where}: {self.message}" if str(self.where) else self.message
        return f"{text}\nhint: {self.hint}" if self.hint else text


def mistakes(problems: Iterable[Problem]) -> list[Problem]:
    """Return those that stop the work."""
    return [problem for problem in problems if problem.severity is Severity.ERROR]


def hints_once(problems: Iterable[Problem]) -> list[Problem]:
    """Return the problems; a hint to several in a row is given once, with the last of them."""
    rows = list(problems)
    following = [problem.hint for problem in rows[1:]]
    return [
        replace(problem, hint="") if problem.hint == after else problem
        for problem, after in zip(rows, (*following, ""), strict=False)
    ]


class VolaryError(Exception):
    """Anything Volary raises on purpose."""


class UserError(VolaryError):
    """Something the user wrote or asked for has to change first.

    Carries every problem that was found, so that they can be mended at once.
    """

    def __init__(self, *problems: Problem) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


def user_error(message: str, *, hint: str = "", where: Location | None = None) -> UserError:
    """Build a `UserError` of a single problem."""
    return UserError(Problem(message, where=where or NOWHERE, hint=hint))


class TemporaryError(VolaryError):
    """It may work when tried again, after `delay` if the other side named one."""

    def __init__(self, message: str, *, delay: timedelta | None = None) -> None:
        super().__init__(message)
        self.delay = delay


class PermanentError(VolaryError):
    """Trying again cannot help."""
