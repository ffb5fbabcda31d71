"""The pods of one variant on a cluster, found by who made them.

The workloads that were applied for the variant are found as all objects of the application are,
by its labels and annotations; primary's also by name, as one that was there before Volary has
none of them. Their pods are those that owner references lead from to them (`pod_owners`). Labels
only narrow what is asked for: a pod of somebody else that bears them is not the variant's. Nor is
one of another release, which somebody began elsewhere and which has taken canary's place: its
workload says of which commit it is.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from volary.clusters.api import label_selectors
from volary.clusters.client import clients, resource_mapping
from volary.concurrency import single_flight
from volary.manifests import objects
from volary.manifests.ownership import prune_decisions, tracking
from volary.manifests.services import service_targets
from volary.manifests.workloads import images, pod_owners, workloads
from volary.model import applications, errors, json
from volary.model.objects import manifest
from volary.model.pipeline import variant

#: Pods of one workload, or others with their labels, that are looked at.
MOST_PODS = 5_000
#: Pods whose containers are not started any more.
_ENDED = ("Succeeded", "Failed")
_POD = "Pod"


class ReplacedError(errors.PermanentError):
    """What runs as canary is not what this release has put there."""


@dataclass(frozen=True, slots=True)
class Group:
    """The pods of one workload."""

    namespace: str
    #: Labels that all of them carry; pods of others may carry them too.
    labels: dict[str, str]
    #: Those of its newest revision that run, or are to.
    pods: tuple[json.JsonObject, ...]


@dataclass(frozen=True, slots=True)
class OwnedPods:
    """Finds the pods of one application on one cluster."""

    client: clients.Client
    application: applications.Application
    #: Of the new version.
    target: Sequence[manifest.Manifest]
    #: Of the running version, where a Service is rolled out.
    running: Sequence[manifest.Manifest]
    #: Where manifests name no namespace.
    namespace: str
    #: Of the release; empty: any will do.
    commit: str = ""
    #: What canary's workloads ran when they were found first, by uid.
    _first: dict[str, json.JsonObject] = field(default_factory=dict)
    _flights: single_flight.SingleFlight = field(default_factory=single_flight.SingleFlight)

    async def find(self, side: variant.Variant, *, is_new: bool) -> tuple[Group, ...]:
        """Return the pods of a variant by workload; who asks at the same time gets the same.

        Args:
            side: Of what.
            is_new: It is the new version that is asked about, and not what it is compared with.

        Raises:
            ReplacedError: Canary is another release's, or was changed.
            errors.VolaryError: The cluster cannot be asked, or refuses.
        """
        key = (side, is_new)
        shared = await self._flights.do(key, side.value, lambda: self._find(side, is_new=is_new))
        return shared.value if shared is not None else ()

    async def _find(self, side: variant.Variant, *, is_new: bool) -> tuple[Group, ...]:
        found = await self._workloads(side, is_new=is_new)
        return tuple([await self._group(workload) for workload in found])

    async def _workloads(self, side: variant.Variant, *, is_new: bool) -> list[json.JsonObject]:
        """Return the live workloads of a variant."""
        if self.application.rolls_out_service:
            return await self._named(self._of_service(side, is_new=is_new))
        wanted = workloads.find(self.target, self.application.workloads)
        applied = await self._applied(wanted, side)
        if side is variant.Variant.CANARY and is_new:
            for body in applied:
                self._require_of_release(body, wanted)
        if side is not variant.Variant.PRIMARY:
            return applied
        chosen = workloads.find(
            [manifest.Manifest(body) for body in applied], self.application.workloads
        )
        known = {objects.uid(item.body) for item in chosen}
        others = [body for body in await self._named(wanted) if objects.uid(body) not in known]
        return [*(item.body for item in chosen), *others]

    def _of_service(self, side: variant.Variant, *, is_new: bool) -> list[manifest.Manifest]:
        """Return what the Service of a version leads to; of canary's, what primary has not."""
        app = self.application
        before = service_targets.selected(self.running, service_targets.find(self.running, app))
        if not is_new:
            return before
        known = {item.key for item in before} if side is variant.Variant.CANARY else set()
        now = service_targets.selected(self.target, service_targets.find(self.target, app))
        return [item for item in now if item.key not in known]

    async def _applied(
        self, wanted: Sequence[manifest.Manifest], side: variant.Variant
    ) -> list[json.JsonObject]:
        """Return what was applied for a variant of the kinds and in the namespaces of these."""
        owner, label = self.application.owner, self.application.variant_label
        selector = tracking.selector(owner, (side,), label)
        found: dict[str, json.JsonObject] = {}
        for group, kind, namespace in sorted({self._place(item) for item in wanted}):
            resource = await resource_mapping.require(self.client, group, kind)
            listed = await self.client.list(
                resource, namespace=namespace, label_selector=selector, most=MOST_PODS
            )
            for body in listed.items:
                is_ours = not prune_decisions.unprunable(body, owner)
                if is_ours and self.client.may_have_written(body, resource):
                    found[objects.uid(body)] = body
        return list(found.values())

    def _require_of_release(
        self, live: json.JsonObject, wanted: Sequence[manifest.Manifest]
    ) -> None:
        """See that a workload of canary is still that of the release.

        One that an earlier release left, and that is as it should be, says that release's commit.

        Raises:
            ReplacedError: Another release, or somebody else, has changed it.
        """
        found, commit = manifest.Manifest(live), tracking.commit_of(live)
        running = images.find(found)
        title = f"{found.kind} {found.name}"
        is_other = commit not in ("", self.commit) and bool(self.commit)
        if is_other and running not in [images.find(item) for item in wanted]:
            raise ReplacedError(
                f"{title} is of commit {commit[:7]} and runs {', '.join(running)}: another release"
                " has taken its place"
            )
        pods = workloads.pod_spec(live) or {}
        if self._first.setdefault(objects.uid(live), pods) != pods:
            raise ReplacedError(f"{title} was changed while its pods were measured")

    async def _named(self, wanted: Sequence[manifest.Manifest]) -> list[json.JsonObject]:
        """Return the live objects of the names of these."""
        found = []
        for item in wanted:
            group, kind, namespace = self._place(item)
            resource = await resource_mapping.require(self.client, group, kind)
            body = await self.client.get(resource, item.name, namespace=namespace)
            if body is not None:
                found.append({**body, "kind": kind})
        return found

    def _place(self, item: manifest.Manifest) -> tuple[str, str, str]:
        return item.group, item.kind, item.namespace or self.namespace

    async def _group(self, workload: json.JsonObject) -> Group:
        """Return the pods of a live workload; a Pod is its own.

        Raises:
            errors.PermanentError: Nothing narrows what would be asked for.
        """
        kind, name = objects.text(workload, "kind"), objects.text(workload, "metadata", "name")
        namespace = objects.text(workload, "metadata", "namespace")
        if kind == _POD:
            own = dict(objects.mapping(workload, "metadata", "labels"))
            return Group(namespace, own, (workload,) if _is_live(workload) else ())
        labels = dict(
            objects.mapping(workload, "spec", "selector", "matchLabels")
            or objects.mapping(workload, "spec", "template", "metadata", "labels")
        )
        if not labels:
            raise errors.PermanentError(f"{kind} {name} has no labels for its pods")
        between: Sequence[json.JsonObject] = ()
        if kind in pod_owners.BETWEEN:
            between = await self._list(workloads.GROUP, pod_owners.BETWEEN[kind], namespace, labels)
        pods = await self._list("", _POD, namespace, labels)
        mine = pod_owners.owned(workload, between, pods)
        return Group(namespace, labels, tuple(pod for pod in mine if _is_live(pod)))

    async def _list(
        self, group: str, kind: str, namespace: str, labels: dict[str, str]
    ) -> tuple[json.JsonObject, ...]:
        listed = await self.client.list(
            await resource_mapping.require(self.client, group, kind),
            namespace=namespace,
            label_selector=label_selectors.exact(labels),
            most=MOST_PODS,
        )
        return listed.items


def _is_live(pod: json.JsonObject) -> bool:
    return not objects.is_terminating(pod) and objects.text(pod, "status", "phase") not in _ENDED
