"""The registered clusters."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from volary.model import errors, metric_providers, options
from volary.model.fleet import taints as marks
from volary.model.objects import object_health


@dataclass(frozen=True, slots=True)
class Cluster:
    """One registered cluster and how to reach it."""

    name: Annotated[
        options.ClusterName, options.Option("Name of the cluster, unique in the fleet.")
    ]
    labels: Mapping[str, str] = options.option(
        "Labels such as region, env or zone, to choose by.", {}
    )
    #: In kubectl's order.
    kubeconfig: Annotated[tuple[options.Text, ...], options.Form.ONE_OR_MANY] = options.option(
        "A kubeconfig file or a list of them, relative to the fleet file. Empty: `KUBECONFIG`, "
        "else `~/.kube/config`.",
        (),
    )
    context: str = options.option("Context in the kubeconfig; empty: its current context.", "")
    in_cluster: bool = options.option(
        "Use the pod's service account instead of a kubeconfig.", False
    )
    agent: bool = options.option(
        "Reach it through its agent (`volary cluster join`): no credentials for it are here.", False
    )
    namespaces: tuple[options.DnsLabel, ...] = options.option(
        "Namespaces Volary may work in; empty: all.", ()
    )
    suspended: bool = options.option("Leave the cluster out of new runs.", False)
    provider: str = options.option("Who runs it; empty: its label `provider`.", "")
    region: str = options.option("Where it is; empty: its label `region`.", "")
    zones: tuple[options.Text, ...] = options.option("Its zones; empty: its label `zone`.", ())
    #: PipeCD's plugins whose deploy target it is; empty: it is not from a file of piped's.
    plugins: tuple[str, ...] = ()
    #: Of the fleet file, by hand and by rules.
    taints: tuple[marks.Taint, ...] = options.option(
        "Taints: they keep applications away that do not tolerate them.", ()
    )


#: What of a cluster decides how it is reached.
CONNECTION = ("kubeconfig", "context", "in_cluster", "agent")


@dataclass(frozen=True, slots=True)
class Fleet:
    """The clusters of a fleet, in the order they were written."""

    clusters: tuple[Cluster, ...] = ()
    #: Systems that are asked for measurements.
    providers: tuple[metric_providers.Provider, ...] = ()
    #: Of all applications, after their own.
    health: tuple[object_health.Rule, ...] = ()
    #: What its file says and nobody carries out.
    warnings: tuple[errors.Problem, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names in order."""
        return tuple(cluster.name for cluster in self.clusters)
