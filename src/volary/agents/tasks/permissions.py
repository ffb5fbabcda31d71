"""What whoever owns a cluster lets an agent do there, as tasks ask for it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from volary.agents.policy import decisions
from volary.clusters.client import actors, write_rules
from volary.model import agent_policies
from volary.model.objects import own_records


class Permissions(Protocol):
    """Says why something is not done, in one sentence that names the rule; empty: it is."""

    def refusal_of_task(self, work: decisions.Work, targets: Sequence[decisions.Target]) -> str:
        """Return why a task that is about some objects is not carried out at all."""
        ...

    def refusal_of_write(self, work: decisions.Work, write: write_rules.Write) -> str:
        """Return why something is not written; asked right before each write."""
        ...

    def refusal_of_identity(self, identity: actors.Identity) -> str:
        """Return why nothing is done for somebody."""
        ...


class PermitAll:
    """For processes that have the credentials of their clusters from the centre itself."""

    def refusal_of_task(self, work: decisions.Work, targets: Sequence[decisions.Target]) -> str:
        """Return nothing."""
        del work, targets
        return ""

    def refusal_of_write(self, work: decisions.Work, write: write_rules.Write) -> str:
        """Return nothing."""
        del work, write
        return ""

    def refusal_of_identity(self, identity: actors.Identity) -> str:
        """Return nothing."""
        del identity
        return ""


@dataclass(frozen=True, slots=True)
class ByPolicy:
    """By the policy of the cluster's owner, as it is at the moment."""

    policy: Callable[[], agent_policies.AgentPolicy]

    def refusal_of_task(self, work: decisions.Work, targets: Sequence[decisions.Target]) -> str:
        """Return why a task that is about some objects is not carried out at all."""
        return decisions.refusal_of_work(self.policy(), work, targets)

    def refusal_of_write(self, work: decisions.Work, write: write_rules.Write) -> str:
        """Return why something is not written.

        Volary's own records of an application may be where the application may be, whatever kinds
        it may have. What is let go of after the end of a run is of no stage.
        """
        policy, resource = self.policy(), write.resource
        is_record = own_records.is_record(resource.group, resource.kind, write.name)
        if write.purpose is write_rules.Purpose.BOOKKEEPING and is_record:
            policy = _with_rules(policy, lambda rule: replace(rule, kinds=()))
        if not work.stage:
            policy = _with_rules(policy, lambda rule: replace(rule, stages=()))
        target = decisions.Target(resource.group, resource.kind, write.namespace)
        return decisions.refusal_of_work(policy, work, [target])

    def refusal_of_identity(self, identity: actors.Identity) -> str:
        """Return why nothing is done for somebody."""
        who = identity.impersonation
        if who is None:
            return ""
        return decisions.refusal_of_impersonation(self.policy(), user=who.user, groups=who.groups)


def _with_rules(
    policy: agent_policies.AgentPolicy,
    change: Callable[[agent_policies.Rule], agent_policies.Rule],
) -> agent_policies.AgentPolicy:
    return replace(policy, rules=tuple(map(change, policy.rules)))
