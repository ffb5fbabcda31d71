"""What there is to divide: workloads with a number of pods, and autoscalers instead of them. Pure.

The kinds are those of `model.placement.divisible_kinds`; another kind with a number of pods is
refused, as every cluster would run all of them. Of a Job the number of pods is its parallelism, or
its completions where these are fewer (Karmada: the replicas of a Job).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from volary.manifests import objects
from volary.manifests.workloads import autoscalers, workloads
from volary.model import errors, json
from volary.model.objects import manifest
from volary.model.placement import divisible_kinds, overrides


@dataclass(frozen=True, slots=True)
class Share:
    """What is divided of one workload, or what one cluster gets of that."""

    #: Of a Job its parallelism, of an autoscaler the most replicas.
    replicas: int
    #: Of a Job that has some.
    completions: int | None = None
    #: Of an autoscaler.
    least: int | None = None

    def __str__(self) -> str:
        if self.least is not None:
            return f"{self.least} to {self.replicas}"
        return str(self.replicas)


@dataclass(frozen=True, slots=True)
class Workload:
    """One workload, or one autoscaler, as the clusters render it before it is divided."""

    key: manifest.ResourceKey
    #: By cluster; they are the same but for applications that render otherwise for each.
    amounts: Mapping[str, Share]
    #: The specification of its pods, by cluster.
    pods: Mapping[str, json.JsonObject] = field(default_factory=dict)
    origin: errors.Location = errors.NOWHERE

    @property
    def amount(self) -> Share:
        """What the first cluster divides."""
        return next(iter(self.amounts.values()))

    @property
    def total(self) -> int:
        """The number of pods that the first cluster divides."""
        return self.amount.replicas

    @property
    def is_uniform(self) -> bool:
        """Whether all clusters divide the same."""
        return len(set(self.amounts.values())) == 1


def find(
    manifests: Mapping[str, Sequence[manifest.Manifest]], policy: overrides.ReplicaDivision
) -> tuple[Workload, ...]:
    """Return what is divided of an application, in the order of the manifests.

    Args:
        manifests: By cluster, before anything is divided or overridden.
        policy: Whether anything is divided, and what becomes of autoscaled workloads.

    Raises:
        UserError: The bounds of an autoscaler do not fit each other, or nobody knows how the pods
            of a kind are divided.
    """
    if policy.division is not overrides.Division.DIVIDED:
        return ()
    amounts: dict[manifest.ResourceKey, dict[str, Share]] = {}
    pods: dict[manifest.ResourceKey, dict[str, json.JsonObject]] = {}
    origins: dict[manifest.ResourceKey, errors.Location] = {}
    for cluster, listed in manifests.items():
        for item, amount, pod in _of_cluster(listed, policy):
            amounts.setdefault(item.key, {})[cluster] = amount
            pods.setdefault(item.key, {})[cluster] = pod
            origins.setdefault(item.key, item.origin)
    return tuple(Workload(key, amounts[key], pods[key], origins[key]) for key in amounts)


def autoscaled(
    manifests: Sequence[manifest.Manifest],
) -> Iterator[tuple[manifest.Manifest, manifest.Manifest]]:
    """Yield the workloads with an autoscaler among the manifests, each with it."""
    for item in manifests:
        if divisible_kinds.has_replicas(item.group, item.kind):
            scaler = autoscalers.of(item, manifests)
            if scaler is not None:
                yield item, scaler


def amount_of(item: manifest.Manifest) -> Share | None:
    """Return what is divided of a manifest; None: nothing is."""
    is_job = divisible_kinds.is_job(item.group, item.kind)
    key = "parallelism" if is_job else "replicas"
    if not (is_job or divisible_kinds.has_replicas(item.group, item.kind)):
        return None
    written = objects.value(item.body, "spec", key)
    if written is not None and (not isinstance(written, int) or isinstance(written, bool)):
        return None
    count = 1 if written is None else written
    completions = objects.value(item.body, "spec", "completions")
    if not is_job or not isinstance(completions, int) or isinstance(completions, bool):
        return Share(count)
    return Share(min(count, completions), completions)


def _of_cluster(
    manifests: Sequence[manifest.Manifest], policy: overrides.ReplicaDivision
) -> Iterator[tuple[manifest.Manifest, Share, json.JsonObject]]:
    scaled = {item.key: scaler for item, scaler in autoscaled(manifests)}
    for item in manifests:
        if divisible_kinds.has_undivided_pods(item.body):
            raise _not_divisible(item)
        pod = workloads.pod_spec(item.body) or {}
        scaler = scaled.get(item.key)
        if scaler is None:
            amount = amount_of(item)
            if amount is not None:
                yield item, amount, pod
        elif policy.autoscaled is overrides.Autoscaled.DIVIDE_BOUNDS:
            yield scaler, _bounds(scaler), pod


def _not_divisible(item: manifest.Manifest) -> errors.UserError:
    return errors.user_error(
        f"the pods of {item.key.title} ({item.api_version}) cannot be divided over clusters: every"
        " cluster would run all of them",
        where=item.origin,
        hint="put it into an application of its own, with Duplicated, and write what differs to"
        " placement.overrides",
    )


def _bounds(scaler: manifest.Manifest) -> Share:
    least, most = autoscalers.bounds(scaler)
    if least > most:
        raise errors.user_error(
            f"{scaler.key.title} has at least {least} replicas, and at most {most}",
            where=scaler.origin,
        )
    return Share(most, least=least)
