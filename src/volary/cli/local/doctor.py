"""``volary doctor``: what this machine has, and what it can keep programs from."""

import platform
from collections.abc import Iterator, Mapping

import volary
from volary.cli import console, exit_codes
from volary.isolation import probing
from volary.sources.rendering import programs


def run() -> int:
    """Say what there is; fails where renderers cannot be kept from the network.

    Raises:
        errors.UserError: That could not be found out in time.
    """
    isolation = probing.probe()
    console.write_lines(lines(programs.find(), isolation))
    return exit_codes.Exit.DONE if isolation.has_no_network else exit_codes.Exit.FAILED


def lines(tools: Mapping[str, str], isolation: probing.Isolation) -> Iterator[str]:
    """Yield what is said, of the programs that are there and of what they can be kept from."""
    system = f"{platform.system()} {platform.release()} ({platform.machine()})"
    yield f"volary {volary.__version__}, Python {platform.python_version()}, {system}"
    for name, hint in programs.HINTS.items():
        yield f"{name}: {tools.get(name) or f'not found; {hint}'}"
    yield f"isolation: {isolation.sentence}"
