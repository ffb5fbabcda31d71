"""Whether a policy permits something; why not, a sentence that names rule and file. Pure."""

import fnmatch
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from volary.agents.policy import api_requests
from volary.model import agent_policies

_GROUP = "group:"
#: Whoever is known to a cluster is one of them anyway.
_EVERYBODY = "system:authenticated"


@dataclass(frozen=True, slots=True)
class Work:
    """What a task is of."""

    application: str
    #: Empty: of none.
    project: str
    #: The name of its stage.
    stage: str


@dataclass(frozen=True, slots=True)
class Target:
    """An object that a task is about, or that is to be written."""

    #: Empty: the core group.
    group: str
    kind: str
    #: Empty: it belongs to no namespace.
    namespace: str = ""

    @property
    def title(self) -> str:
        """Its kind as rules have it."""
        return f"{self.group}/{self.kind}" if self.group else self.kind

    def __str__(self) -> str:
        """Its kind and namespace."""
        place = f"in namespace {self.namespace}" if self.namespace else "of no namespace"
        return f"{self.title} {place}"


def refusal_of_work(
    policy: agent_policies.AgentPolicy, work: Work, targets: Iterable[Target] = ()
) -> str:
    """Return why a task may not be carried out, or something may not be written; empty: it may.

    One rule has to permit the work, and all that it is about.
    """
    wanted = tuple(targets)
    reasons = [_why_not(rule, work, wanted) for rule in policy.rules]
    if any(not reason for reason in reasons):
        return ""
    what = f"stage {work.stage} of application {work.application}"
    if not reasons:
        return f"the agent's policy does not permit {what}: it has no rules ({_file(policy)})"
    if len(reasons) == 1:
        return f"the agent's policy does not permit {what}: {reasons[0]} ({_file(policy)})"
    numbered = "; ".join(f"rule {i}: {reason}" for i, reason in enumerate(reasons, 1))
    return f"the agent's policy does not permit {what}: {numbered} ({_file(policy)})"


def _file(policy: agent_policies.AgentPolicy) -> str:
    return policy.file or "its file"


def _why_not(rule: agent_policies.Rule, work: Work, targets: Sequence[Target]) -> str:
    if rule.projects and work.project not in rule.projects:
        return f"it is not for project {work.project or '(none)'}"
    if not _matches(rule.applications, work.application):
        return f"it is not for application {work.application}"
    if not _matches(rule.stages, work.stage):
        return f"it is not for stage {work.stage}"
    return next(filter(None, (_why_not_for(rule, target) for target in targets)), "")


def _why_not_for(rule: agent_policies.Rule, target: Target) -> str:
    if not target.namespace and not rule.cluster_scoped:
        return f"it is not for {target} (clusterScoped)"
    is_there = not target.namespace or _matches(rule.namespaces, target.namespace)
    return "" if is_there and _matches(rule.kinds, target.title) else f"it is not for {target}"


def _matches(patterns: Sequence[str], word: str) -> bool:
    return not patterns or any(fnmatch.fnmatchcase(word, pattern) for pattern in patterns)


def refusal_of_request(policy: agent_policies.AgentPolicy, request: api_requests.ApiRequest) -> str:
    """Return why a server's request may not be passed on; empty: it may."""
    if request.verb is api_requests.Verb.DISCOVER:
        return ""
    why = _why_unread(policy.read, request)
    return (
        f"the agent's policy does not permit to {request.what}: {why} ({_file(policy)})"
        if why
        else ""
    )


def _why_unread(access: agent_policies.ReadAccess | None, request: api_requests.ApiRequest) -> str:
    if access is None:
        return "read is not set"
    if request.verb is api_requests.Verb.REVIEW:
        return ""
    if request.verb is api_requests.Verb.LOG and not access.logs:
        return "read.logs is false"
    if (request.group, request.resource) == ("", "secrets") and not access.secrets:
        return "read.secrets is false"
    if access.namespaces:
        return _why_elsewhere(access, request)
    return ""


def _why_elsewhere(access: agent_policies.ReadAccess, request: api_requests.ApiRequest) -> str:
    if request.namespace in access.namespaces:
        return ""
    if request.resource in agent_policies.CLUSTER_SCOPED.get(request.group, ()):
        is_question = request.verb is api_requests.Verb.READ
        return "" if access.cluster_scoped and is_question else "read.clusterScoped is false"
    if not request.namespace:
        return "read.namespaces does not permit to read all namespaces"
    return f"read.namespaces does not have {request.namespace}"


def refusal_of_impersonation(
    policy: agent_policies.AgentPolicy, *, user: str, groups: Sequence[str]
) -> str:
    """Return why a request may not be made for somebody; empty: it may."""
    users = [name for name in policy.impersonate if not name.startswith(_GROUP)]
    permitted = [
        name.removeprefix(_GROUP) for name in policy.impersonate if name.startswith(_GROUP)
    ]
    if groups and not user:
        return f"groups are impersonated with a user only ({_file(policy)})"
    if user and not any(fnmatch.fnmatchcase(user, pattern) for pattern in users):
        return f"the agent's policy does not permit to impersonate {user} ({_file(policy)})"
    for group in (name for name in groups if name != _EVERYBODY):
        if not any(fnmatch.fnmatchcase(group, pattern) for pattern in permitted):
            return (
                f"the agent's policy does not permit to impersonate group {group} ({_file(policy)})"
            )
    return ""


def summary(policy: agent_policies.AgentPolicy) -> tuple[str, ...]:
    """Return what a policy permits, in sentences for people."""
    lines = [_summary_of_reading(policy.read)]
    if policy.impersonate:
        lines.append(f"requests for {', '.join(policy.impersonate)}")
    lines += [f"tasks: {_summary_of(rule)}" for rule in policy.rules]
    if not policy.rules:
        lines.append("no tasks")
    return tuple(lines)


def _summary_of_reading(access: agent_policies.ReadAccess | None) -> str:
    if access is None:
        return "reads nothing"
    where = f"namespaces {', '.join(access.namespaces)}" if access.namespaces else "all namespaces"
    return f"reads {where}, {'with' if access.secrets else 'without'} Secrets"


def _summary_of(rule: agent_policies.Rule) -> str:
    parts = [
        f"{word} {', '.join(given)}"
        for word, given in (
            ("projects", rule.projects),
            ("applications", rule.applications),
            ("namespaces", rule.namespaces),
            ("kinds", rule.kinds),
            ("stages", rule.stages),
        )
        if given
    ]
    if rule.cluster_scoped:
        parts.append("also of no namespace")
    return "; ".join(parts) or "any"
