"""What ``volary lint --fleet`` says of where applications go, as a run would divide them."""

from collections.abc import Iterator, Mapping

from volary.cli import placements
from volary.config import application as application_files
from volary.config import lint
from volary.model import errors, fleet, problem


def findings(files: Mapping[str, str], members: fleet.Fleet) -> Iterator[problem.Problem]:
    """Yield spreads that this fleet cannot meet, and clusters that are refused for want of a wave.

    Args:
        files: The text of application files, and of what is beside them where that counts.
        members: The fleet.
    """
    for loaded in lint.loaded(files).values():
        yield from _of(loaded, members)


def _of(loaded: application_files.Loaded, members: fleet.Fleet) -> Iterator[problem.Problem]:
    described = loaded.application
    if described is None or not placements.admitted(described, members):
        return  # told by `config.crosscheck` already
    try:
        placements.check(loaded, members)
    except errors.UserError as error:
        yield from error.problems
