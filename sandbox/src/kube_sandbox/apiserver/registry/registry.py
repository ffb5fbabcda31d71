"""The verbs of one cluster, in this process: what HTTP handlers and controllers both call.

A write goes through what kube-apiserver does, in its order: decode (unknown
fields), defaults, managed fields, what the kind prepares (names, uid,
generation, addresses), validation, conflicts, storage (`writing`, `deleting`).
All verbs are synchronous and atomic on the event loop. Objects handed out are
shared: read only.

Every refusal is a `api_errors.StatusError`. The words of the verbs are in `verbs`.
"""

from collections.abc import Callable, Sequence

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import api_errors, times
from kube_sandbox.apimachinery.scheme import conversions, kinds
from kube_sandbox.apiserver.registry import (
    custom_resources,
    deleting,
    listing,
    naming,
    resource_metrics,
    scaling,
    writing,
)
from kube_sandbox.apiserver.storage import cluster_state, storage, verbs

Deleted = verbs.Deleted
Deletion = verbs.Deletion
Listing = verbs.Listing
Options = verbs.Options
PatchType = verbs.PatchType
Preconditions = verbs.Preconditions
Query = verbs.Query
Settings = verbs.Settings
Validation = verbs.Validation
Written = verbs.Written

_DEFAULT = verbs.Options()


class Registry:
    """One cluster's verbs. `namespace` is empty for cluster-scoped kinds."""

    def __init__(self, time: times.Clock, settings: verbs.Settings | None = None) -> None:
        self.time = time
        self.settings = settings or verbs.Settings()
        self.cluster = cluster_state.ClusterState(time, self.settings)
        self.storage = self.cluster.storage
        #: What pods and nodes use; None: no metrics-server is installed.
        self.metrics: resource_metrics.ResourceMetrics | None = None

    # Kinds

    def kind(self, api_version: str, name: str) -> kinds.Kind:
        """Return a served kind (``apps/v1``, ``Deployment``), or raise 404."""
        return self.cluster.served.require(api_version, name)

    def kind_of(self, body: json.JsonObject) -> kinds.Kind:
        """Return the kind an object names, or raise 404."""
        return self.kind(str(body.get("apiVersion", "")), str(body.get("kind", "")))

    @property
    def served(self) -> Sequence[kinds.Kind]:
        """All kinds served now, custom resources included."""
        return self.cluster.served.all()

    # Reading

    def find(self, kind: kinds.Kind, namespace: str, name: str) -> json.JsonObject | None:
        """Return an object, or None."""
        found = self.cluster.find(kind, namespace, name)
        return None if found is None else conversions.outward(kind, found)

    def get(self, kind: kinds.Kind, namespace: str, name: str) -> json.JsonObject:
        """Return an object, or raise 404."""
        found = self.find(kind, namespace, name)
        if found is None:
            raise api_errors.not_found(kind.group, kind.plural, name)
        return found

    def objects(self, kind: kinds.Kind, namespace: str = "") -> Sequence[json.JsonObject]:
        """Return all objects of a kind, sorted by namespace and name."""
        items = self.storage.list(kind.bucket, namespace)
        return [conversions.outward(kind, each.body) for each in items]

    def list(
        self, kind: kinds.Kind, namespace: str = "", query: verbs.Query | None = None
    ) -> verbs.Listing:
        """Return a page of objects, as the API's list does; raises 400, 410 and 504."""
        return listing.read(self.cluster, kind, namespace, query or verbs.Query())

    def subscribe(self, subscriber: storage.Subscriber) -> Callable[[], None]:
        """Hear of every change of every kind; see `storage.Storage.subscribe`."""
        return self.storage.subscribe(subscriber)

    # Writing

    def create(
        self,
        kind: kinds.Kind,
        namespace: str,
        body: object,
        options: verbs.Options | None = None,
    ) -> verbs.Written:
        """Create an object; raises 400, 409, 422, 403 (namespace), 404 (no namespace)."""
        written = writing.create(self.cluster, kind, namespace, body, options or _DEFAULT)
        return self._establish(kind, written, options)

    def update(
        self,
        kind: kinds.Kind,
        namespace: str,
        name: str,
        body: object,
        options: verbs.Options | None = None,
        *,
        subresource: str = "",
    ) -> verbs.Written:
        """Replace an object, or with `subresource` ``status`` or ``scale`` that part of it.

        A resourceVersion in `body` must be the stored one (409).
        """
        target = writing.Target(kind, namespace, name, subresource)
        if subresource == "scale":
            return scaling.update(self.cluster, target, body, options or _DEFAULT)
        written = writing.update(self.cluster, target, body, options or _DEFAULT)
        return self._establish(kind, written, options)

    def update_status(
        self,
        kind: kinds.Kind,
        namespace: str,
        name: str,
        body: object,
        options: verbs.Options | None = None,
    ) -> verbs.Written:
        """Replace an object's status."""
        return self.update(kind, namespace, name, body, options, subresource="status")

    def patch(
        self,
        kind: kinds.Kind,
        namespace: str,
        name: str,
        patch: object,
        patch_type: verbs.PatchType,
        options: verbs.Options | None = None,
        *,
        subresource: str = "",
    ) -> verbs.Written:
        """Change an object by a patch."""
        target = writing.Target(kind, namespace, name, subresource)
        chosen = options or _DEFAULT
        if subresource == "scale":
            return scaling.patch(self.cluster, target, patch, patch_type, chosen)
        written = writing.patch(self.cluster, target, patch, patch_type, chosen)
        return self._establish(kind, written, options)

    def apply(
        self,
        kind: kinds.Kind,
        namespace: str,
        name: str,
        body: json.JsonObject,
        options: verbs.Options,
        *,
        subresource: str = "",
    ) -> verbs.Written:
        """Server-side apply as ``options.manager``; creates what is missing."""
        target = writing.Target(kind, namespace, name, subresource)
        if subresource == "scale":
            return scaling.apply(self.cluster, target, body, options)
        written = writing.apply(self.cluster, target, body, options)
        return self._establish(kind, written, options)

    def delete(
        self,
        kind: kinds.Kind,
        namespace: str,
        name: str,
        deletion: verbs.Deletion | None = None,
    ) -> verbs.Deleted:
        """Delete an object, or mark it when finalizers or a grace period hold it."""
        stored = conversions.stored_kind(kind)
        deleted = deleting.delete(
            self.cluster, stored, namespace, name, deletion or verbs.Deletion()
        )
        if stored is kinds.CUSTOM_RESOURCE_DEFINITION and not (deletion and deletion.dry_run):
            self._empty(deleted.body)
        return verbs.Deleted(conversions.outward(kind, deleted.body), deleted.gone)

    def delete_collection(
        self,
        kind: kinds.Kind,
        namespace: str,
        query: verbs.Query | None = None,
        deletion: verbs.Deletion | None = None,
    ) -> Sequence[verbs.Deleted]:
        """Delete all objects that match."""
        found = self.list(kind, namespace, query)
        return [self.delete(kind, *item.key, deletion) for item in found.items]

    # Subresources controllers use

    def scale(self, kind: kinds.Kind, namespace: str, name: str) -> json.JsonObject:
        """Return the ``autoscaling/v1`` Scale of an object."""
        return scaling.read(self.cluster, writing.Target(kind, namespace, name, "scale"))

    def finalize(self, name: str, body: json.JsonObject) -> verbs.Written:
        """Write a namespace's ``spec.finalizers``; the last one gone, the namespace goes."""
        kind = kinds.NAMESPACE
        live = self.get(kind, "", name)
        naming.check_version(kind, name, live, body)
        spec = dict(live.get("spec") or {})
        finalizers = (body.get("spec") or {}).get("finalizers") or []
        spec["finalizers"] = finalizers
        if not finalizers:
            del spec["finalizers"]
        changed = {**live, "spec": spec}
        return verbs.Written(writing.store(self.cluster, kind, live, changed, dry_run=False))

    def bind(self, namespace: str, pod: str, node: str) -> verbs.Written:
        """Give a pod its node (``pods/binding``); raises 409 when it has one."""
        live = self.get(kinds.POD, namespace, pod)
        if live["spec"].get("nodeName"):
            why = f'pod {pod} is already assigned to node "{live["spec"]["nodeName"]}"'
            raise api_errors.conflict("", "pods/binding", pod, why)
        conditions = [
            each
            for each in live["status"].get("conditions") or ()
            if each["type"] != "PodScheduled"
        ]
        scheduled = {
            "type": "PodScheduled",
            "status": "True",
            "lastProbeTime": None,
            "lastTransitionTime": self.cluster.stamp(),
        }
        changed = {
            **live,
            "spec": {**live["spec"], "nodeName": node},
            "status": {**live["status"], "conditions": [*conditions, scheduled]},
        }
        return verbs.Written(writing.store(self.cluster, kinds.POD, live, changed, dry_run=False))

    def evict(
        self, namespace: str, pod: str, deletion: verbs.Deletion | None = None
    ) -> verbs.Deleted:
        """Delete a pod if its disruption budgets allow it; raises 429."""
        return deleting.evict(self.cluster, namespace, pod, deletion or verbs.Deletion())

    # What other API servers serve

    def serve_metrics(self, usage_of: resource_metrics.UsageOf, *, speed: float = 1.0) -> None:
        """Install metrics-server, which tells what `usage_of` says of running pods.

        `speed`: sandbox seconds per real second, in which its readings are counted.
        """
        self.metrics = resource_metrics.ResourceMetrics(self.cluster, usage_of, speed=speed)
        role = self.metrics.role
        self.create(self.kind_of(role), "", role)

    # Custom resources

    def _establish(
        self, kind: kinds.Kind, written: verbs.Written, options: verbs.Options | None
    ) -> verbs.Written:
        """Serve a definition that was just written."""
        if kind is not kinds.CUSTOM_RESOURCE_DEFINITION or (options and options.dry_run):
            return written
        stored = self.cluster.find(kind, "", written.body["metadata"]["name"])
        if stored is None:
            self.cluster.served.drop_custom(written.body["metadata"]["name"])
        elif not stored["metadata"].get("deletionTimestamp"):
            custom_resources.establish(self.cluster, stored)
        return written

    def _empty(self, definition: json.JsonObject) -> None:
        """Delete the objects of a definition that is on its way out."""
        name = definition["metadata"]["name"]
        found = self.cluster.served.custom(name)
        if not found:
            return
        for body in self.objects(found[0]):
            metadata = body["metadata"]
            self.delete(found[0], metadata.get("namespace", ""), metadata["name"])
        custom_resources.finish(self.cluster, found[0])
