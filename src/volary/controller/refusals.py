"""Why something cannot be done: the two answers besides a plain user's mistake."""

from typing import TypeVar

from volary.model import errors, phrases

Value = TypeVar("Value")
_HINT = "\nhint: "


class NotFound(errors.UserError):
    """What was named does not exist."""


class Conflict(errors.UserError):
    """It exists, but what was asked for is not possible in the state it is in."""


class Busy(errors.TemporaryError):
    """It was stored, but no leader has answered yet."""


def not_found(what: str, name: str) -> NotFound:
    """Return the refusal for something that does not exist."""
    return NotFound(errors.Problem(f"there is no {what} {name}"))


def required(value: Value | None, what: str, name: str) -> Value:
    """Return what was looked up by name.

    Raises:
        NotFound: It does not exist.
    """
    if value is None:
        raise not_found(what, name)
    return value


def conflict(reason: str, *, hint: str = "") -> Conflict:
    """Return the refusal with its sentence, and what to do instead."""
    return Conflict(errors.Problem(reason, hint=hint))


def to_text(error: errors.UserError) -> str:
    """Return the first problem as it is kept with a request."""
    problem = error.problems[0]
    return with_hint(problem.message, problem.hint)


def with_hint(reason: str, hint: str) -> str:
    """Return a refusal and what to do instead as they are kept with a request."""
    return f"{reason}{_HINT}{hint}" if hint else reason


def from_text(text: str) -> Conflict:
    """Return the refusal that was kept with a request."""
    reason, _, hint = text.partition(_HINT)
    return conflict(reason, hint=hint)


def sentence(error: errors.UserError) -> str:
    """Return the problems as one sentence for lists; the first three, and how many more."""
    texts = (str(problem).replace("\n", "; ") for problem in error.problems)
    return phrases.first_of(texts, 3, "; ")
