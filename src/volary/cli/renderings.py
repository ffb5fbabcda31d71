"""The renderer of commands without a server: with the keys of whoever runs them.

What comes to light when something is decrypted is never shown by this process: see `console.hide`.
"""

import os
from collections.abc import Iterable, Sequence
from typing import Protocol

from volary.cli import console
from volary.controller.planning import opened_applications
from volary.sources.decryption import keys
from volary.sources.rendering import programs, renderers


class Learner(Protocol):
    """Takes what nobody may see."""

    def learn_values(self, values: Iterable[object]) -> None:
        """Learn strings and numbers, also those inside of lists and objects."""
        ...


def open_renderer(
    opened: opened_applications.OpenedApplication, *others: Learner
) -> renderers.Renderer:
    """Return a renderer for an application; `others` learn what comes to light as well."""

    def learn(_: str, values: Sequence[object]) -> None:
        console.hide(values)
        for other in others:
            other.learn_values(values)

    known = keys.of_user(os.environ, apart_from=opened_applications.directories_of(opened))
    return renderers.Renderer(programs.Settings(keys=known), learn)
