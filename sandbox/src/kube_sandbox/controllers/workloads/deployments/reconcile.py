"""One look at a Deployment: which writes bring it nearer to its spec."""

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import objects, selectors, times
from kube_sandbox.controllers.framework import actions, pods, view
from kube_sandbox.controllers.workloads.deployments import (
    progress,
    replicasets,
    rollout,
    scaling,
    sizes,
)


def reconcile(cluster: view.View, key: view.Key, at: times.Instant) -> actions.Result:
    """Return the next writes for the Deployment at `key`."""
    deployment = cluster.get("Deployment", key.namespace, key.name)
    if deployment is None:
        return actions.NOTHING
    if selectors.is_empty(objects.spec(deployment).get("selector")):
        return actions.NOTHING
    orphans = _adoptable(cluster, deployment)
    if orphans:
        return actions.Result(orphans)
    found = replicasets.family(
        deployment,
        [
            each
            for each in cluster.owned(objects.uid(deployment), "ReplicaSet")
            if objects.is_controlled_by(each, deployment)
        ],
    )
    waited = at.seconds - cluster.progressing_since(deployment)
    look = _Look(cluster, deployment, found, at=at, waited=waited)
    return look.decide()


class _Look:
    """The deployment, its ReplicaSets and the time, for the length of one reconcile."""

    def __init__(
        self,
        cluster: view.View,
        deployment: json.JsonObject,
        found: replicasets.Family,
        *,
        at: times.Instant,
        waited: float,
    ) -> None:
        self._cluster = cluster
        self._deployment = deployment
        self._found = found
        self._at = at
        self._waited = waited

    def decide(self) -> actions.Result:
        deployment, found = self._deployment, self._found
        if objects.is_deleting(deployment):
            return self._status_only()
        noted = progress.with_pause_noted(deployment, self._at)
        if noted is not None:
            return actions.Result((actions.UpdateStatus(noted),))
        if found.new is not None and (writes := self._refresh()):
            return actions.Result(tuple(writes))
        if objects.spec(deployment).get("paused"):
            writes = scaling.spread(deployment, found)
            return self._status_only(*writes, *replicasets.outdated(deployment, found.old))
        if scaling.is_due(deployment, found):
            return self._status_only(*scaling.spread(deployment, found))
        return self._roll_out() if sizes.is_rolling(deployment) else self._recreate()

    def _refresh(self) -> list[actions.Write]:
        assert self._found.new is not None
        updated = replicasets.refreshed(self._deployment, self._found)
        if updated is not None:
            return [actions.Update(updated)]
        noted = progress.with_revision(self._deployment, self._found.new, made=False, at=self._at)
        return [actions.UpdateStatus(noted)] if noted is not None else []

    def _roll_out(self) -> actions.Result:
        if self._found.new is None:
            return self._make()
        return self._finish(rollout.roll(self._deployment, self._found))

    def _recreate(self) -> actions.Result:
        if writes := rollout.stop_old(self._deployment, self._found):
            return self._finish(writes)
        running = [
            each
            for replica_set in self._found.all
            for each in self._cluster.owned(objects.uid(replica_set), "Pod")
        ]
        if rollout.has_old_pods(self._found, running):
            return self._finish([])
        if self._found.new is None:
            return self._make()
        return self._finish(rollout.start_new(self._deployment, self._found))

    def _make(self) -> actions.Result:
        made = replicasets.make(self._deployment, self._found)
        taken = self._cluster.get("ReplicaSet", objects.namespace(made), objects.name(made))
        if taken is not None:
            return self._step_aside()
        writes: list[actions.Write] = [actions.Create(made)]
        if objects.replicas(made) > 0:
            size = objects.replicas(made)
            writes.append(replicasets.scaled_event(self._deployment, made, size, fresh=True))
        noted = progress.with_revision(self._deployment, made, made=True, at=self._at)
        if noted is not None:
            writes.append(actions.UpdateStatus(noted))
        return actions.Result(tuple(writes))

    def _step_aside(self) -> actions.Result:
        """The name is taken by another template: count the collision and hash again."""
        collisions = int(objects.status(self._deployment).get("collisionCount") or 0) + 1
        counted = objects.changed(self._deployment, ("status", "collisionCount"), collisions)
        return actions.Result((actions.UpdateStatus(counted),))

    def _finish(self, writes: list[actions.Write]) -> actions.Result:
        """Tell the progress, and drop old ReplicaSets once the rollout is complete."""
        counted = progress.counted(self._deployment, self._found, self._at)
        status = progress.judged(
            self._deployment, self._found, counted, waited=self._waited, at=self._at
        )
        if not writes and progress.is_complete(self._deployment, objects.status(self._deployment)):
            writes = replicasets.outdated(self._deployment, self._found.old)
        left = progress.time_left(self._deployment, waited=self._waited)
        return actions.Result((*writes, *self._write(status)), requeue_after=left)

    def _status_only(self, *writes: actions.Write) -> actions.Result:
        status = progress.counted(self._deployment, self._found, self._at)
        return actions.Result((*writes, *self._write(status)))

    def _write(self, status: json.JsonObject) -> tuple[actions.Write, ...]:
        if status == objects.status(self._deployment):
            return ()
        return (actions.UpdateStatus({**self._deployment, "status": status}),)


def _adoptable(cluster: view.View, deployment: json.JsonObject) -> tuple[actions.Write, ...]:
    """Take over ReplicaSets that match and have no controller (after ``--cascade=orphan``)."""
    if objects.is_deleting(deployment):
        return ()
    selector = objects.spec(deployment).get("selector")
    return tuple(
        pods.adopted(each, deployment)
        for each in cluster.orphans("ReplicaSet", objects.namespace(deployment))
        if not objects.is_deleting(each) and selectors.matches(selector, objects.labels(each))
    )
