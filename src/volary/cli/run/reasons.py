"""Reasons of clusters, each written once: who says it again only names the cluster."""

import re


class Reasons:
    """The reasons that were written so far."""

    def __init__(self) -> None:
        self._said: dict[str, str] = {}

    def say(self, cluster: str, reason: str) -> None:
        """Remember that the reason of a cluster was written."""
        if reason:
            self._said[cluster] = reason

    def shortened(self, text: str) -> str:
        """Return a text without the reasons that were written: ``eu: no image`` is ``eu``."""
        for cluster, reason in self._said.items():
            pattern = rf"(?<![\w-]){re.escape(f'{cluster}: {reason}')}"
            text = re.sub(pattern, cluster, text)
        return text
