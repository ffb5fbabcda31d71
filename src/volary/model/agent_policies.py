"""What the owner of a cluster permits its agent: a file beside it, which wins over servers."""

from collections.abc import Mapping
from dataclasses import dataclass

from volary.model import options


@dataclass(frozen=True, slots=True)
class ReadAccess:
    """What servers may read through the agent."""

    namespaces: tuple[options.DnsLabel, ...] = options.option(
        "In these namespaces only; empty: in all.", ()
    )
    cluster_scoped: bool = options.option(
        "With `namespaces`: also what belongs to no namespace, such as nodes and definitions of "
        "kinds, as far as it is known here (`nodes`, `namespaces`, `customresourcedefinitions`, "
        "`storageclasses`, `ingressclasses`, `gatewayclasses`, `priorityclasses`).",
        True,
    )
    secrets: bool = options.option(
        "Also Secrets with their values, where namespaces permit it. Needed for applications that "
        "have Secrets in Git, for those that are adopted, and for objects as they were before "
        "(snapshots), which are kept in Secrets.",
        False,
    )
    logs: bool = options.option("Also what pods write.", True)


@dataclass(frozen=True, slots=True)
class Rule:
    """Something that is permitted: to a task, and to each of its writes, all of which one rule has
    to permit.
    """

    projects: tuple[options.Text, ...] = options.option("Of these projects; empty: of any.", ())
    applications: tuple[options.Text, ...] = options.option(
        "Of applications of these names, in which `*` stands for anything; empty: of any.", ()
    )
    namespaces: tuple[options.Text, ...] = options.option(
        "In these namespaces, in which `*` stands for anything; empty: in any.", ()
    )
    kinds: tuple[options.Text, ...] = options.option(
        "Of these kinds: `Kind` of the core group, `group/Kind` of others, in which `*` stands for "
        "anything; empty: of any.",
        (),
    )
    cluster_scoped: bool = options.option("Also what belongs to no namespace.", False)
    stages: tuple[options.Text, ...] = options.option(
        "In stages of these names, such as K8S_PRIMARY_ROLLOUT; empty: in any.", ()
    )


@dataclass(frozen=True, slots=True)
class AgentPolicy:
    """What the owner of a cluster permits. The empty one permits nothing."""

    #: None: nothing may be read.
    read: ReadAccess | None = None
    impersonate: tuple[options.Text, ...] = options.option(
        "Users that requests of servers may be made for, such as "
        "`system:serviceaccount:team-a:deployer`, and groups as `group:NAME`; in both `*` stands "
        "for anything. Empty: nobody.",
        (),
    )
    rules: tuple[Rule, ...] = options.option(
        "A task is carried out, and a write is sent, when one rule permits everything that it is "
        "about.",
        (),
    )
    #: The file that says so, for messages.
    file: str = ""


#: Plural names of kinds that belong to no namespace, by their groups.
CLUSTER_SCOPED: Mapping[str, frozenset[str]] = {
    "": frozenset({"nodes", "namespaces"}),
    "apiextensions.k8s.io": frozenset({"customresourcedefinitions"}),
    "storage.k8s.io": frozenset({"storageclasses"}),
    "networking.k8s.io": frozenset({"ingressclasses"}),
    "gateway.networking.k8s.io": frozenset({"gatewayclasses"}),
    "scheduling.k8s.io": frozenset({"priorityclasses"}),
}
