"""What went wrong with a set, and whether that was the set itself."""

from collections.abc import Iterable, Sequence

from volary.clusters.api import api_errors
from volary.model import errors
from volary.model.objects import apply_results

_BAD_REQUEST = 400


class ApplyError(errors.VolaryError):
    """A set was not applied completely; `changes` says what was."""

    def __init__(
        self,
        problems: Sequence[errors.Problem],
        *,
        changes: apply_results.ChangeSet | None = None,
        causes: Iterable[errors.VolaryError] = (),
        touched: bool = False,
    ) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = tuple(problems)
        self.changes = changes or apply_results.ChangeSet()
        self.causes = tuple(causes)
        #: Something was, or may have been, written.
        self.touched = touched or any(change.written for change in self.changes.changes)


def unreachable(error: errors.VolaryError) -> api_errors.Unreachable | None:
    """Return the error that says that the cluster did not answer; None for other reasons."""
    causes = error.causes if isinstance(error, ApplyError) else (error,)
    return next((cause for cause in causes if isinstance(cause, api_errors.Unreachable)), None)


def is_without_credentials(error: errors.VolaryError) -> bool:
    """Say whether an error is about who we are, and about nothing that was asked."""
    causes = error.causes if isinstance(error, ApplyError) else (error,)
    kinds = (
        api_errors.Unauthorized,
        api_errors.CredentialsMissing,
        api_errors.MayNotImpersonate,
    )
    return any(isinstance(cause, kinds) for cause in causes)


def is_by_schema(error: ApplyError) -> bool:
    """Whether all that was refused does not fit the schema, which may be an old one."""
    return bool(error.causes) and all(
        isinstance(cause, api_errors.Invalid)
        or (isinstance(cause, api_errors.RequestError) and cause.status == _BAD_REQUEST)
        for cause in error.causes
    )
