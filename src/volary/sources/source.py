"""Where manifests come from."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Source:
    """An application directory at one commit."""

    #: As the user names it: a path or a URL.
    repository: str
    #: Full hash; empty: a plain directory, read as it is.
    commit: str
    #: Relative to the repository's root, ``/`` between parts; empty: the root.
    directory: str = ""

    @property
    def title(self) -> str:
        """For people: ``shop@1a2b3c4``, or the directory alone."""
        where = self.directory or self.repository
        return f"{where}@{self.commit[:7]}" if self.commit else where
