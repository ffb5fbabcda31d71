"""One look at a Deployment: which writes bring it nearer to its spec."""

from kube_sandbox import json
from kube_sandbox.controllers import moment, objects, plan, pods, selectors, view
from kube_sandbox.controllers.deployments import (
    progress,
    recreate,
    replicasets,
    rolling,
    scaling,
    sizes,
)


def reconcile(cluster: view.View, key: view.Key, at: moment.Moment) -> plan.Plan:
    """Return the next writes for the Deployment at `key`."""
    deployment = cluster.get("Deployment", key.namespace, key.name)
    if deployment is None:
        return plan.NOTHING
    if selectors.is_empty(objects.spec(deployment).get("selector")):
        return plan.NOTHING
    orphans = _adoptable(cluster, deployment)
    if orphans:
        return plan.Plan(orphans)
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
        at: moment.Moment,
        waited: float,
    ) -> None:
        self._cluster = cluster
        self._deployment = deployment
        self._found = found
        self._at = at
        self._waited = waited

    def decide(self) -> plan.Plan:
        deployment, found = self._deployment, self._found
        if objects.is_deleting(deployment):
            return self._status_only()
        noted = progress.with_pause_noted(deployment, self._at)
        if noted is not None:
            return plan.Plan((plan.UpdateStatus(noted),))
        if found.new is not None and (writes := self._refresh()):
            return plan.Plan(tuple(writes))
        if objects.spec(deployment).get("paused"):
            writes = scaling.spread(deployment, found)
            return self._status_only(*writes, *replicasets.outdated(deployment, found.old))
        if scaling.is_due(deployment, found):
            return self._status_only(*scaling.spread(deployment, found))
        return self._roll_out() if sizes.is_rolling(deployment) else self._recreate()

    def _refresh(self) -> list[plan.Write]:
        assert self._found.new is not None
        updated = replicasets.refreshed(self._deployment, self._found)
        if updated is not None:
            return [plan.Update(updated)]
        noted = progress.with_revision(self._deployment, self._found.new, made=False, at=self._at)
        return [plan.UpdateStatus(noted)] if noted is not None else []

    def _roll_out(self) -> plan.Plan:
        if self._found.new is None:
            return self._make()
        return self._finish(rolling.step(self._deployment, self._found))

    def _recreate(self) -> plan.Plan:
        if writes := recreate.stop_old(self._deployment, self._found):
            return self._finish(writes)
        running = [
            each
            for replica_set in self._found.all
            for each in self._cluster.owned(objects.uid(replica_set), "Pod")
        ]
        if recreate.has_old_pods(self._found, running):
            return self._finish([])
        if self._found.new is None:
            return self._make()
        return self._finish(recreate.start_new(self._deployment, self._found))

    def _make(self) -> plan.Plan:
        made = replicasets.make(self._deployment, self._found)
        taken = self._cluster.get("ReplicaSet", objects.namespace(made), objects.name(made))
        if taken is not None:
            return self._step_aside()
        writes: list[plan.Write] = [plan.Create(made)]
        if objects.replicas(made) > 0:
            size = objects.replicas(made)
            writes.append(replicasets.scaled_event(self._deployment, made, size, fresh=True))
        noted = progress.with_revision(self._deployment, made, made=True, at=self._at)
        if noted is not None:
            writes.append(plan.UpdateStatus(noted))
        return plan.Plan(tuple(writes))

    def _step_aside(self) -> plan.Plan:
        """The name is taken by another template: count the collision and hash again."""
        collisions = int(objects.status(self._deployment).get("collisionCount") or 0) + 1
        counted = objects.changed(self._deployment, ("status", "collisionCount"), collisions)
        return plan.Plan((plan.UpdateStatus(counted),))

    def _finish(self, writes: list[plan.Write]) -> plan.Plan:
        """Tell the progress, and drop old ReplicaSets once the rollout is complete."""
        counted = progress.counted(self._deployment, self._found, self._at)
        status = progress.judged(
            self._deployment, self._found, counted, waited=self._waited, at=self._at
        )
        if not writes and progress.is_complete(self._deployment, objects.status(self._deployment)):
            writes = replicasets.outdated(self._deployment, self._found.old)
        left = progress.time_left(self._deployment, waited=self._waited)
        return plan.Plan((*writes, *self._write(status)), again_after=left)

    def _status_only(self, *writes: plan.Write) -> plan.Plan:
        status = progress.counted(self._deployment, self._found, self._at)
        return plan.Plan((*writes, *self._write(status)))

    def _write(self, status: json.JsonObject) -> tuple[plan.Write, ...]:
        if status == objects.status(self._deployment):
            return ()
        return (plan.UpdateStatus({**self._deployment, "status": status}),)


def _adoptable(cluster: view.View, deployment: json.JsonObject) -> tuple[plan.Write, ...]:
    """Take over ReplicaSets that match and have no controller (after ``--cascade=orphan``)."""
    if objects.is_deleting(deployment):
        return ()
    selector = objects.spec(deployment).get("selector")
    return tuple(
        pods.adopted(each, deployment)
        for each in cluster.orphans("ReplicaSet", objects.namespace(deployment))
        if not objects.is_deleting(each) and selectors.matches(selector, objects.labels(each))
    )
