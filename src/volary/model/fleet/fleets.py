"""The registered clusters."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from volary.model import metric_providers
from volary.model.fleet import taints as marks
from volary.model.objects import object_health


@dataclass(frozen=True, slots=True)
class Cluster:
    """One registered cluster and how to reach it."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    #: Files in kubectl's order; empty: ``KUBECONFIG``, else ``~/.kube/config``.
    kubeconfig: tuple[str, ...] = ()
    #: Context in the kubeconfig; empty: its current context.
    context: str = ""
    #: Use the pod's service account instead of a kubeconfig.
    in_cluster: bool = False
    #: Namespaces Volary may work in; empty: all.
    namespaces: tuple[str, ...] = ()
    #: A suspended cluster is left out of new runs and said to be.
    suspended: bool = False
    #: Where it is; empty: the labels of these names count, where there are any.
    provider: str = ""
    region: str = ""
    zones: tuple[str, ...] = ()
    #: Marks that keep applications away: of the fleet file, by hand and by rules.
    taints: tuple[marks.Taint, ...] = ()


@dataclass(frozen=True, slots=True)
class Fleet:
    """The clusters of a fleet, in the order they were written."""

    clusters: tuple[Cluster, ...] = ()
    #: Systems that are asked for measurements.
    providers: tuple[metric_providers.Provider, ...] = ()
    #: Of all applications, after their own.
    health: tuple[object_health.Rule, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names in order."""
        return tuple(cluster.name for cluster in self.clusters)
