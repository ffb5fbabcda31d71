"""What ``volary lint --fleet`` says of where applications go, as a run would divide them."""

from collections.abc import Iterator, Mapping

from volary.cli import placements
from volary.config import application as application_files
from volary.config import lint, yaml
from volary.model import errors, fleet, problem
from volary.placement import waves

_SPREAD: yaml.Path = ("spec", "placement", "spread")
_WAVES: yaml.Path = ("spec", "waves")


def findings(files: Mapping[str, str], members: fleet.Fleet) -> Iterator[problem.Problem]:
    """Yield spreads that this fleet cannot meet, and clusters that are refused for want of a wave.

    Args:
        files: The text of application files, and of what is beside them where that counts.
        members: The fleet.
    """
    for file, loaded in lint.loaded(files).items():
        yield from _of(file, loaded, members)


def _of(
    file: str, loaded: application_files.Loaded, members: fleet.Fleet
) -> Iterator[problem.Problem]:
    described = loaded.application
    if described is None or not placements.admitted(described, members):
        return  # told by `config.crosscheck` already
    path = _SPREAD
    try:
        choice = placements.choose(described, members)
        path = _WAVES
        if described.waves.waves:
            waves.divide(described.waves, choice.clusters)
    except errors.UserError as error:
        where = loaded.document.where(path) if loaded.document else problem.Location(file)
        for each in error.problems:
            yield problem.Problem(each.message, where, each.hint)
