"""Workspaces: what a team gets on the clusters that it shares with others.

Its namespaces, whom its deployments are done as, its people's access, and what keeps it from taking
or reaching what is not its own. The words are those of Kubernetes.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from volary.model import options
from volary.model.objects import ownership
from volary.model.placement import rollouts

_ID_LENGTH = 16

#: A quantity, or a count.
Quantities = Mapping[str, int | str]


@dataclass(frozen=True, slots=True)
class PolicyRule:
    """What may be done (RBAC: PolicyRule)."""

    verbs: tuple[options.Text, ...] = options.option("Such as `get`; `*`: all.", (), required=True)
    api_groups: tuple[str, ...] = options.option(
        "API groups; `''` is the core group.", (), required=True
    )
    resources: tuple[options.Text, ...] = options.option(
        "Such as `pods` or `pods/log`.", (), required=True
    )
    resource_names: tuple[options.Text, ...] = options.option(
        "Objects of these names only. Left out: all.", ()
    )


@dataclass(frozen=True, slots=True)
class WorkspaceNamespace:
    """A namespace of a workspace."""

    name: Annotated[options.DnsLabel, options.Option("Its name.")]
    labels: Mapping[str, str] = options.option("Labels it has, besides others'.", {})
    annotations: Mapping[str, str] = options.option("Annotations it has, besides others'.", {})
    adopt: bool = options.option(
        "Take it over where it was there before. It is never deleted then.", False
    )


@dataclass(frozen=True, slots=True)
class Deployer:
    """Whom a project's deployments are done as in the namespaces of its workspace."""

    service_account: options.DnsLabel = options.option(
        "Name of a ServiceAccount, which is made in the workspace's first namespace.",
        "volary-deployer",
    )
    user: str = options.option(
        "Name of a user instead of a ServiceAccount: nobody can get a token for it.", ""
    )
    #: Empty: `tenancy.workspace_rules.DEPLOYER`.
    rules: tuple[PolicyRule, ...] = options.option(
        "What it may do in each namespace. Left out: change workloads, their configuration and "
        "routes, and nothing of RBAC, quotas, limits and network policies.",
        (),
    )


class MemberRole(StrEnum):
    """What a member may do in each namespace."""

    VIEW = "view"
    EDIT = "edit"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class Member:
    """A group or a user with access to the namespaces."""

    group: str = options.option("A group, as API servers know it. Not together with `user`.", "")
    user: str = options.option("A user, as API servers know them.", "")
    role: MemberRole | None = options.option(
        "`view`, `edit` or `admin`. Not together with `rules`.", None
    )
    rules: tuple[PolicyRule, ...] = options.option("Rules of their own instead of a role.", ())


@dataclass(frozen=True, slots=True)
class Quota:
    """How much each namespace may have (Kubernetes: ResourceQuota)."""

    hard: Quantities = options.option(
        "Limits by name, such as `pods: 10` or `requests.cpu: 4`.", {}, required=True
    )


class LimitType(StrEnum):
    """What a limit is of."""

    CONTAINER = "Container"
    POD = "Pod"
    PERSISTENT_VOLUME_CLAIM = "PersistentVolumeClaim"


@dataclass(frozen=True, slots=True)
class LimitRangeItem:
    """Bounds and defaults of one kind of thing (Kubernetes: LimitRangeItem)."""

    type: Annotated[LimitType, options.Option("`Container`, `Pod` or `PersistentVolumeClaim`.")]
    max: Quantities = options.option("The most.", {})
    min: Quantities = options.option("The least.", {})
    default: Quantities = options.option("Limits of containers that have none.", {})
    default_request: Quantities = options.option("Requests of containers that have none.", {})
    max_limit_request_ratio: Quantities = options.option(
        "How many times its request a limit may be.", {}
    )


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """Objects by their labels; nothing given means all (Kubernetes: LabelSelector)."""

    match_labels: Mapping[str, str] = options.option("All of these labels.", {})
    match_expressions: tuple[rollouts.Requirement, ...] = options.option(
        "Conditions on labels.", ()
    )


@dataclass(frozen=True, slots=True)
class IpBlock:
    """Addresses (Kubernetes: IPBlock)."""

    cidr: Annotated[options.Text, options.Option("Such as `192.0.2.0/24`.")]
    excluded: tuple[options.Text, ...] = options.option("But not these.", (), key="except")


@dataclass(frozen=True, slots=True)
class NetworkPort:
    """A port, or several in a row."""

    port: int | str = options.option("Number or name.", "", required=True)
    protocol: str = options.option("`TCP`, `UDP` or `SCTP`.", "TCP")
    end_port: int = options.option("The last of several. 0: there is one.", 0, least=0, most=65535)


@dataclass(frozen=True, slots=True)
class NetworkException:
    """Whom pods may exchange traffic with besides those of the workspace.

    Namespaces and pods given together both have to match; pods alone are those of the workspace.
    """

    namespace_selector: LabelSelector | None = options.option("Pods of these namespaces.", None)
    pod_selector: LabelSelector | None = options.option("These pods.", None)
    ip_block: IpBlock | None = options.option("These addresses; not together with selectors.", None)
    ports: tuple[NetworkPort, ...] = options.option("Only these ports. Left out: all.", ())


@dataclass(frozen=True, slots=True)
class Network:
    """Who may exchange traffic with the workspace's pods (Kubernetes: NetworkPolicy)."""

    isolate: bool = options.option(
        "Deny all traffic from and to what is not of the workspace, but for names (port 53 of "
        "kube-system) and the exceptions.",
        True,
    )
    allow_from: tuple[NetworkException, ...] = options.option("Who may send to it.", (), most=200)
    allow_to: tuple[NetworkException, ...] = options.option("Whom it may send to.", (), most=200)


class PodSecurity(StrEnum):
    """How much pods may ask of their node (Kubernetes: Pod Security Standards)."""

    PRIVILEGED = "privileged"
    BASELINE = "baseline"
    RESTRICTED = "restricted"


@dataclass(frozen=True, slots=True)
class Workspace:
    """What the team of a project gets on some clusters."""

    name: options.DnsLabel = ""
    project: options.DnsLabel = options.option("Whose it is: a project.", "", required=True)
    clusters: rollouts.ClusterSelector = options.option(
        "Which clusters; empty: all.", rollouts.ClusterSelector()
    )
    namespaces: tuple[WorkspaceNamespace, ...] = options.option(
        "Its namespaces, on each of the clusters.", (), most=100, required=True
    )
    deployer: Deployer = options.option("Whom deployments are done as.", Deployer())
    members: tuple[Member, ...] = options.option("Who has access to the namespaces.", (), most=500)
    quota: Quota | None = options.option("How much each namespace may have.", None)
    limits: tuple[LimitRangeItem, ...] = options.option(
        "Bounds and defaults of what is in each namespace.", (), most=10
    )
    network: Network = options.option("Who may exchange traffic with its pods.", Network())
    pod_security: PodSecurity = options.option(
        "What pods may be: `privileged`, `baseline` or `restricted`.", PodSecurity.BASELINE
    )

    @property
    def owner(self) -> ownership.Owner:
        """As its objects name it."""
        return owner_of(self.name)


def owner_of(name: str) -> ownership.Owner:
    """Return how objects name the workspace of a name."""
    whole = f"{ownership.WORKSPACE_PREFIX}{name}"
    return ownership.Owner(whole, hashlib.sha256(whole.encode()).hexdigest()[:_ID_LENGTH])
