"""Whether a commit that somebody names was ever on the branch that its repository is watched at.

Projects say which branches count, and a file's project is found at the branch that is watched. A
commit that is nowhere on it may come from anybody who may push any branch, or open a pull request:
so where there are projects it is not deployed, unless it ran before and somebody goes back to it.
"""

from volary.controller.runs import ready_runs
from volary.model import errors, statuses
from volary.store import records, stores


async def why_not_on_branch(
    dependencies: ready_runs.Dependencies,
    place: ready_runs.ApplicationSource,
    commit: str,
    *,
    head: str = "",
) -> str:
    """Return a sentence if a commit is not in the history of an application's branch, else nothing.

    Args:
        dependencies: Where repositories are.
        place: Of the application.
        commit: Its whole hash.
        head: Where the branch was when it was seen last; empty: that is not known. The host is
            asked only where the commit does not lead there.

    Raises:
        errors.UserError: The repository has no such branch any more.
        errors.TemporaryError: Its host cannot be asked now.
    """
    repository = await dependencies.repositories.repository(place.repository)
    if head and await repository.has_in_history(head, commit):
        return ""
    newest = await dependencies.repositories.fetch_head(place.repository)
    if newest != head and await repository.has_in_history(newest, commit):
        return ""
    branch = f"branch {place.branch}" if place.branch else "the branch that is watched"
    return f"{commit[:7]} is not a commit of {branch} of the repository {place.repository}"


async def require_on_branch(
    dependencies: ready_runs.Dependencies,
    place: ready_runs.ApplicationSource,
    commit: str,
    *,
    head: str = "",
) -> str:
    """Refuse a commit that was never on its branch; see `why_not_on_branch`.

    Returns:
        Where there are no projects: what would be refused if there were, one sentence, or nothing.

    Raises:
        errors.UserError: There are projects, and it is on another branch or on none.
        errors.TemporaryError: That cannot be told now.
    """
    are_apart = dependencies.projects().are_in_use
    try:
        why = await why_not_on_branch(dependencies, place, commit, head=head)
    except (errors.UserError, errors.TemporaryError):
        if are_apart:
            raise
        return ""  # it would only have been mentioned
    if why and are_apart:
        raise errors.user_error(
            f"{why}, so it is not deployed: a project's `sources` say which branches count",
            hint="merge it first; `volary plan` shows what it would do",
        )
    return why


async def has_run(store: stores.Store, application: str, commit: str) -> bool:
    """Say whether a run of an application has brought a commit to all of its clusters."""
    good = frozenset(statuses.GOOD_ENDS)
    wanted = records.RunFilter(frozenset({application}), good, commit)
    return bool((await store.runs.list(wanted, limit=1)).items)
