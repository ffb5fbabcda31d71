"""Events: one object per thing that happened, counted up when it happens again."""

import collections

from kube_sandbox import json, kinds, registry, status, verbs
from kube_sandbox.controllers import moment, objects, plan

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

    def record(self, told: plan.Emit, at: moment.Moment) -> None:
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
        except status.StatusError:
            return  # the namespace is gone or going: nobody is left to read it
        self._known[key] = (namespace, name)
        self._known.move_to_end(key)
        if len(self._known) > _LIMIT:
            _, (namespace, name) = self._known.popitem(last=False)
            self._drop(namespace, name)

    def _count_up(self, place: tuple[str, str], told: plan.Emit, at: moment.Moment) -> bool:
        found = self._cluster.find(_EVENT, *place)
        if found is None:
            return False
        again = {**found, "count": int(found.get("count") or 1) + 1, "lastTimestamp": at.stamp}
        try:
            self._cluster.update(_EVENT, *place, again, _options(told))
        except status.StatusError:
            return False
        return True

    def _drop(self, namespace: str, name: str) -> None:
        try:
            self._cluster.delete(_EVENT, namespace, name)
        except status.StatusError:
            return  # somebody else has deleted it

    def _made(self, told: plan.Emit, at: moment.Moment) -> json.JsonObject:
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


def _options(told: plan.Emit) -> verbs.Options:
    manager = told.component if told.component == "kubelet" else "kube-controller-manager"
    return verbs.Options(manager=manager, agent=manager)
