"""Carries plans out: every write becomes one verb of the registry."""

from dataclasses import replace
from typing import assert_never

from kube_sandbox import json, registry, verbs
from kube_sandbox.controllers import moment, objects, plan, recorder


class Carrier:
    """Writes into one cluster."""

    def __init__(self, cluster: registry.Registry) -> None:
        self._cluster = cluster
        self._recorder = recorder.Recorder(cluster)

    def carry_out(self, wanted: plan.Plan, manager: str, at: moment.Moment) -> None:
        """Do all writes of a plan, in order, as `manager`.

        Raises:
            StatusError: A write was refused; those after it were not tried.
        """
        options = verbs.Options(manager=manager, agent=manager)
        for write in wanted.writes:
            self._do(write, options, at)

    def _do(self, write: plan.Write, options: verbs.Options, at: moment.Moment) -> None:
        match write:
            case plan.Create(body, announce):
                self._create(body, announce, options, at)
            case plan.Update(body):
                kind = self._cluster.kind_of(body)
                place = (objects.namespace(body), objects.name(body))
                self._cluster.update(kind, *place, body, options)
            case plan.UpdateStatus(body):
                kind = self._cluster.kind_of(body)
                place = (objects.namespace(body), objects.name(body))
                self._cluster.update_status(kind, *place, body, options)
            case plan.Finalize(body):
                self._cluster.finalize(objects.name(body), body)
            case plan.Bind(pod, node):
                self._cluster.bind(objects.namespace(pod), objects.name(pod), node)
            case plan.Delete():
                self._delete(write)
            case plan.Emit():
                self._recorder.record(write, at)
            case _:
                assert_never(write)

    def _create(
        self,
        body: json.JsonObject,
        announce: plan.Emit | None,
        options: verbs.Options,
        at: moment.Moment,
    ) -> None:
        kind = self._cluster.kind_of(body)
        written = self._cluster.create(kind, objects.namespace(body), body, options)
        if announce is not None:
            message = announce.message.replace("{name}", objects.name(written.body))
            self._recorder.record(replace(announce, message=message), at)

    def _delete(self, write: plan.Delete) -> None:
        target = write.target
        deletion = verbs.Deletion(
            propagation=write.propagation,
            grace_seconds=write.grace_seconds,
            preconditions=verbs.Preconditions(uid=objects.uid(target)),
        )
        kind = self._cluster.kind_of(target)
        self._cluster.delete(kind, objects.namespace(target), objects.name(target), deletion)
