"""``skipOn``: whether a stage is left out for this commit (PipeCD: 7.6), pure."""

from collections.abc import Sequence

from volary.gitops import globs
from volary.model import stage


def reason_to_skip(skip_on: stage.SkipOn, *, subject: str, changed: Sequence[str] | None) -> str:
    """Say why the stage is skipped; empty: it is not.

    Paths first, then prefixes. Without a running commit (`changed` is None) paths cannot
    skip anything: PipeCD crashes there.

    Raises:
        errors.UserError: A pattern cannot be read.
    """
    if skip_on.paths and changed is not None:
        outside = next((path for path in changed if not globs.matches(skip_on.paths, path)), None)
        if outside is None:
            return "every changed file is among the paths that skip this stage"
    for prefix in skip_on.commit_message_prefixes:
        if prefix and subject.startswith(prefix):
            return f"the commit message starts with {prefix!r}"
    return ""
