"""Carries actions out: every one becomes one verb of the registry, and Events are recorded."""

import collections
from dataclasses import replace
from typing import assert_never

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import api_errors, objects, times
from kube_sandbox.apimachinery.scheme import kinds
from kube_sandbox.apiserver.registry import registry
from kube_sandbox.apiserver.storage import verbs
from kube_sandbox.controllers.framework import actions

#: Events kept per cluster; the oldest go (real clusters drop them after an hour).
_LIMIT = 1000
_EVENT = next(
    each for each in kinds.BUILT_IN if each.name == "Event" and each.convert is kinds.Convert.NONE
)


class Recorder:
    """Writes the events of one cluster."""

    def __init__(self, cluster: registry.Registry) -> None:
        self._cluster = cluster
        #: From what makes events the same to their (namespace, name).
        self._known: collections.OrderedDict[tuple[str, ...], tuple[str, str]] = (
            collections.OrderedDict()
        )
        self._number = 0

    def record(self, told: actions.Emit, at: times.Instant) -> None:
        """Write an event, or count up the one that tells the same."""
        key = (objects.uid(told.regarding), told.reason, told.message, told.field_path)
        place = self._known.get(key)
        if place is not None and self._count_up(place, told, at):
            self._known.move_to_end(key)
            return
        body = self._made(told, at)
        namespace, name = objects.namespace(body), objects.name(body)
        try:
            self._cluster.create(_EVENT, namespace, body, _options(told))
        except api_errors.StatusError:
            return  # the namespace is gone or going: nobody is left to read it
        self._known[key] = (namespace, name)
        self._known.move_to_end(key)
        if len(self._known) > _LIMIT:
            _, (namespace, name) = self._known.popitem(last=False)
            self._drop(namespace, name)

    def _count_up(self, place: tuple[str, str], told: actions.Emit, at: times.Instant) -> bool:
        found = self._cluster.find(_EVENT, *place)
        if found is None:
            return False
        again = {**found, "count": int(found.get("count") or 1) + 1, "lastTimestamp": at.stamp}
        try:
            self._cluster.update(_EVENT, *place, again, _options(told))
        except api_errors.StatusError:
            return False
        return True

    def _drop(self, namespace: str, name: str) -> None:
        try:
            self._cluster.delete(_EVENT, namespace, name)
        except api_errors.StatusError:
            return  # somebody else has deleted it

    def _made(self, told: actions.Emit, at: times.Instant) -> json.JsonObject:
        regarding = told.regarding
        self._number += 1
        # Real names end in the time in nanoseconds; a number on top keeps them unique.
        suffix = f"{int(at.now.timestamp() * 1e6) * 1000 + self._number % 1000:x}"
        source = {"component": told.component, "host": told.host}
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {
                "name": f"{objects.name(regarding)}.{suffix}",
                "namespace": objects.namespace(regarding) or "default",
            },
            "involvedObject": objects.reference_to(regarding, field_path=told.field_path),
            "reason": told.reason,
            "message": told.message,
            "source": {key: value for key, value in source.items() if value},
            "firstTimestamp": at.stamp,
            "lastTimestamp": at.stamp,
            "count": 1,
            "type": told.type,
            "eventTime": None,
            "reportingComponent": told.component,
            "reportingInstance": told.host,
        }


def _options(told: actions.Emit) -> verbs.Options:
    manager = told.component if told.component == "kubelet" else "kube-controller-manager"
    return verbs.Options(manager=manager, agent=manager)


class Writer:
    """Writes into one cluster."""

    def __init__(self, cluster: registry.Registry) -> None:
        self._cluster = cluster
        self._recorder = Recorder(cluster)

    def carry_out(self, wanted: actions.Result, manager: str, at: times.Instant) -> None:
        """Do all writes of a result, in order, as `manager`.

        Raises:
            StatusError: A write was refused; those after it were not tried.
        """
        options = verbs.Options(manager=manager, agent=manager)
        for write in wanted.writes:
            self._do(write, options, at)

    def _do(self, write: actions.Write, options: verbs.Options, at: times.Instant) -> None:
        match write:
            case actions.Create():
                self._create(write, options, at)
            case actions.Update(body):
                kind = self._cluster.kind_of(body)
                place = (objects.namespace(body), objects.name(body))
                self._cluster.update(kind, *place, body, options)
            case actions.UpdateStatus(body):
                kind = self._cluster.kind_of(body)
                place = (objects.namespace(body), objects.name(body))
                self._cluster.update_status(kind, *place, body, options)
            case actions.Finalize(body):
                self._cluster.finalize(objects.name(body), body)
            case actions.Bind(pod, node):
                self._cluster.bind(objects.namespace(pod), objects.name(pod), node)
            case actions.Delete():
                self._delete(write)
            case actions.Emit():
                self._recorder.record(write, at)
            case _:
                assert_never(write)

    def _create(
        self,
        wanted: actions.Create,
        options: verbs.Options,
        at: times.Instant,
    ) -> None:
        body, announce = wanted.body, wanted.announce
        kind = self._cluster.kind_of(body)
        try:
            written = self._cluster.create(kind, objects.namespace(body), body, options)
        except api_errors.StatusError as problem:
            for write in wanted.refused(problem.message) if wanted.refused else ():
                self._do(write, options, at)
            raise
        if announce is not None:
            message = announce.message.replace("{name}", objects.name(written.body))
            self._recorder.record(replace(announce, message=message), at)

    def _delete(self, write: actions.Delete) -> None:
        target = write.target
        deletion = verbs.Deletion(
            propagation=write.propagation,
            grace_seconds=write.grace_seconds,
            preconditions=verbs.Preconditions(uid=objects.uid(target)),
        )
        kind = self._cluster.kind_of(target)
        self._cluster.delete(kind, objects.namespace(target), objects.name(target), deletion)
