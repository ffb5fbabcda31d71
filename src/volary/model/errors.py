"""The errors somebody reacts to, drawn as a tree.

    VolaryError
    ├── UserError         the user must fix this; shown without traceback, with a hint
    ├── TemporaryError    try again later
    └── PermanentError    give up; trying again cannot help

A failing cluster is an `outcome.Outcome`, not an exception that crosses rooms.
"""

from datetime import timedelta

from volary.model import problem


class VolaryError(Exception):
    """Anything Volary raises on purpose."""


class UserError(VolaryError):
    """Something the user wrote or asked for has to change first.

    Carries every problem that was found, so that they can be mended at once.
    """

    def __init__(self, *problems: problem.Problem) -> None:
        super().__init__("\n".join(str(each) for each in problems))
        self.problems = problems


def user_error(message: str, *, hint: str = "", where: problem.Location | None = None) -> UserError:
    """Build a `UserError` of a single problem."""
    return UserError(problem.Problem(message, where=where or problem.NOWHERE, hint=hint))


class TemporaryError(VolaryError):
    """It may work when tried again, after `delay` if the other side named one."""

    def __init__(self, message: str, *, delay: timedelta | None = None) -> None:
        super().__init__(message)
        self.delay = delay


class PermanentError(VolaryError):
    """Trying again cannot help."""
