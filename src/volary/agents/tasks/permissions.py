"""What whoever owns a cluster lets an agent do there, as tasks ask for it."""

from typing import Protocol

from volary.clusters.client import write_rules


class Permissions(Protocol):
    """Says why something is not done, in one sentence that names the rule; empty: it is."""

    def refusal_of_task(self, *, project: str, application: str, stage: str) -> str:
        """Return why a stage of an application is not carried out at all."""
        ...

    def refusal_of_write(
        self, write: write_rules.Write, *, project: str, application: str, stage: str
    ) -> str:
        """Return why something is not written; asked right before each write."""
        ...


class PermitAll:
    """For processes that have the credentials of their clusters from the centre itself."""

    def refusal_of_task(self, *, project: str, application: str, stage: str) -> str:
        """Return nothing."""
        del project, application, stage
        return ""

    def refusal_of_write(
        self, write: write_rules.Write, *, project: str, application: str, stage: str
    ) -> str:
        """Return nothing."""
        del write, project, application, stage
        return ""
