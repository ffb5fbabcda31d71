"""Conversations with the machine, as scripts of what it is told and what it answers."""

from collections.abc import Callable
from textwrap import dedent

from volary.engine.runs import state

__all__ = ["Converse", "Make", "check"]

Make = Callable[..., state.Run]
Converse = Callable[[state.Run, str], str]


def check(converse: Converse, run: state.Run, script: str) -> None:
    """Then: told the ``>>`` lines of the script, the machine answers with all the others."""
    script = dedent(script).strip()

    assert converse(run, script) == script
