"""Projects: which repositories a team releases from, where to, and what may be in it.

What one of several teams may do on a server that all of them share (Argo CD: AppProject). As soon
as there is one project, an application that belongs to none is refused, and so is whatever its
project does not permit.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, ClassVar

from volary.model import options, server_settings
from volary.model.placement import rollouts

#: What applications belong to as long as there is no project: everything is permitted.
DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Source:
    """Application files that belong to a project; everything given has to hold."""

    repository: Annotated[
        options.Text, options.Option("Name of a repository of the settings; a glob such as `a-*`.")
    ]
    paths: tuple[options.Text, ...] = options.option(
        "Globs for application files, relative to the root of the repository; a directory stands "
        "for everything below it. Empty: all.",
        (),
    )
    branches: tuple[options.Text, ...] = options.option(
        "Globs for the watched branch. Empty: whichever is watched.", ()
    )


@dataclass(frozen=True, slots=True)
class Destination:
    """Where a project's applications may have objects."""

    clusters: rollouts.ClusterSelector = options.option(
        "Which clusters; empty: all.", rollouts.ClusterSelector()
    )
    namespaces: tuple[options.Text, ...] = options.option(
        "Globs for namespaces, such as `shop` or `shop-*`.", (), required=True
    )


@dataclass(frozen=True, slots=True)
class KindPattern:
    """Kinds of objects."""

    group: str = options.option("API group, a glob; empty: the core group.", "")
    kind: options.Text = options.option("Kind, a glob.", "*")


@dataclass(frozen=True, slots=True)
class Kinds:
    """Which kinds of objects a project's applications may have; `denied` wins."""

    namespaced: tuple[KindPattern, ...] = options.option(
        "Kinds in namespaces. Left out: all.", (KindPattern("*", "*"),)
    )
    cluster_scoped: tuple[KindPattern, ...] = options.option(
        "Kinds without a namespace. Left out: none. A Namespace has to be one of the "
        "destinations' besides.",
        (),
    )
    denied: tuple[KindPattern, ...] = options.option("Never these, whatever else is there.", ())


class ScriptRule(StrEnum):
    """Whether scripts may run."""

    ALLOW = "allow"
    DENY = "deny"


@dataclass(frozen=True, slots=True)
class ProjectLimits:
    """How much a project may have at once; 0: as much as the server takes."""

    runs: int = options.option("Runs under way; others wait.", 0, least=0, most=10_000)
    clusters: int = options.option(
        "Clusters that one run changes at once.", 0, least=0, most=10_000
    )
    objects: int = options.option(
        "Objects of one application on one cluster.", 0, least=0, most=1_000_000
    )
    rendered_bytes: int = options.option(
        "Size of an application's rendered manifests for one cluster, in bytes of JSON.",
        0,
        least=0,
        most=1_000_000_000,
    )


@dataclass(frozen=True, slots=True)
class ProjectRole:
    """Gives a role, for the applications of the project."""

    role: Annotated[server_settings.Role, options.Option("Everyone with a role may view.")]
    groups: tuple[options.Text, ...] = options.option("Groups of the issuer.", ())
    subjects: tuple[options.Text, ...] = options.option(
        "People of the issuer, `oidc:ana@example.org`, and API tokens, `token:ci`.", ()
    )


@dataclass(frozen=True, slots=True)
class ServiceAccount:
    """A ServiceAccount of every cluster."""

    namespace: Annotated[options.DnsLabel, options.Option("Its namespace.")]
    name: Annotated[options.Text, options.Option("Its name.")]


@dataclass(frozen=True, slots=True)
class Impersonation:
    """As whom the API servers take what is done for a project (Kubernetes: user impersonation).

    The server's own identity needs the right to `impersonate`; what may be done is then decided by
    the cluster's rules for the one who is impersonated.
    """

    user: str = options.option("Name of a user; not together with `serviceAccount`.", "")
    groups: tuple[options.Text, ...] = options.option("Groups of the user.", ())
    service_account: ServiceAccount | None = options.option(
        "A ServiceAccount, with the groups that every one has.", None
    )


@dataclass(frozen=True, slots=True)
class ProjectCredentials:
    """Kubeconfig files of a project: its clusters are reached with these instead of the fleet's."""

    misplaced: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ["token", "password", "kubeconfigData"],
        "secrets do not belong into this file; write it into a file of its own and name that",
    )

    kubeconfig: Annotated[
        tuple[options.RequiredFile, ...],
        options.Option(
            "Files whose contexts are called as the clusters of the fleet; a cluster that has no "
            "context there is not reached for this project.",
            least=1,
        ),
    ]


@dataclass(frozen=True, slots=True)
class Project:
    """What the applications of one team may do."""

    name: options.DnsLabel = ""
    description: str = options.option("What it is, for people.", "")
    sources: tuple[Source, ...] = options.option(
        "Which application files belong to it.", (), required=True
    )
    destinations: tuple[Destination, ...] = options.option(
        "Where its applications may have objects.", (), required=True
    )
    kinds: Kinds = options.option("Which kinds of objects they may have.", Kinds())
    #: None: every kind of stage.
    stages: tuple[options.Text, ...] | None = options.option(
        "The stages that its pipelines may have, by name. Left out: all.", None
    )
    scripts: ScriptRule = options.option(
        "Whether its applications may have scripts run (`SCRIPT_RUN`), where the settings allow "
        "them at all.",
        ScriptRule.DENY,
    )
    limits: ProjectLimits = options.option("How much it may have at once.", ProjectLimits())
    #: Besides each application's own.
    windows: rollouts.Windows = field(default_factory=rollouts.Windows)
    routes: tuple[server_settings.Route, ...] = options.option(
        "Which events of its applications go to which receivers of the settings, besides the "
        "settings' routes.",
        (),
    )
    roles: tuple[ProjectRole, ...] = options.option(
        "Who may do what with its applications, besides the settings' roles.", ()
    )
    impersonate: Impersonation | None = options.option(
        "As whom API servers take what is done for it; not together with `credentials`.", None
    )
    credentials: ProjectCredentials | None = options.option(
        "Credentials of its own for the clusters; only in files beside the settings.", None
    )
    secrets: server_settings.Secrets | None = options.option(
        "Keys of its own for secrets in Git, instead of the settings'; only in files beside the "
        "settings.",
        None,
    )
