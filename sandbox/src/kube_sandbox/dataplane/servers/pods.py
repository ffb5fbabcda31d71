"""Keeps one server per port of every running container, in step with the cluster's pods.

A container listens from the moment its pod's status says that it runs. When the pod's deletion
begins it goes on as before while its ``preStop`` hook sleeps. For its stop delay it then asks
clients to come back on other connections; after that it takes no new ones, and finishes what is
under way. The node ends the pod then, or when the grace period is over: what is under way breaks.
"""

import asyncio
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import objects
from kube_sandbox.apiserver.storage import storage
from kube_sandbox.controllers.framework import view
from kube_sandbox.controllers.kubelet import behaviours, lifecycle
from kube_sandbox.dataplane.protocols import listeners
from kube_sandbox.dataplane.servers import answers as server_answers
from kube_sandbox.dataplane.servers import exposition, loopback

#: Where a container listens that declares no port.
DEFAULT_PORT = 8080
#: Seconds for requests that were on their way when their pod ended.
_GRACE = 2.0
_VARIANT = "/variant"
_APP_LABELS = ("app", "app.kubernetes.io/name", "name")


@dataclass(slots=True)
class Server:
    """The server of a container's port."""

    container: str
    port: int
    answers: server_answers.Answers
    listener: listeners.Listener


@dataclass(frozen=True, slots=True)
class Past:
    """A server that is gone; its counters still tell of the last minutes."""

    answers: server_answers.Answers
    ended: float


class Pods:
    """The servers of one cluster."""

    def __init__(
        self,
        cluster: str,
        seen: view.View,
        setting: lifecycle.Setting,
        block: loopback.Block,
        *,
        seed: int | None,
        speed: float = 1.0,
    ) -> None:
        self._cluster = cluster
        self._seen = seen
        self._setting = setting
        self._rules = setting.rules
        self._block = block
        self._chance = random.Random(seed)
        self._speed = speed
        self._events = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        #: By the pod's uid, then by port.
        self._servers: dict[str, dict[int, Server]] = {}
        self._addresses: dict[str, str] = {}
        self.past: list[Past] = []
        #: Ports that could not be listened on, in words.
        self.problems: dict[str, None] = {}

    def servers(self) -> Iterator[tuple[str, Server]]:
        """All servers, with the address of each."""
        for uid, ports in self._servers.items():
            for each in ports.values():
                yield self._addresses[uid], each

    def is_busy(self, uid: str) -> bool:
        """Whether requests to a pod are under way."""
        return any(each.listener.is_busy for each in self._servers.get(uid, {}).values())

    def note(self, change: storage.Change) -> None:
        """Take in a change of the cluster."""
        if change.bucket != "pods":
            return
        pod = change.item.body
        if change.event is storage.Event.DELETED:
            self._gone(pod)
        else:
            self._keep(pod)

    async def close(self) -> None:
        """End all servers."""
        for ports in self._servers.values():
            for each in ports.values():
                each.listener.abort()
        self._servers.clear()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _keep(self, pod: json.JsonObject) -> None:
        uid = objects.uid(pod)
        address = str(objects.status(pod).get("podIP") or "")
        if not address:
            return
        self._addresses[uid] = address
        held = self._servers.setdefault(uid, {})
        running = _running(pod)
        for port, each in list(held.items()):
            if each.container not in running:
                each.listener.abort()
                self._remember(held.pop(port))
        for container in lifecycle.main_containers(pod):
            if str(container["name"]) in running:
                for port in ports(container):
                    if port not in held:
                        self._listen(pod, container, address, port)
        if objects.is_deleting(pod):
            told = lifecycle.before_stop(pod) / self._speed
            ended = lifecycle.stop_window(pod, self._setting)[0] / self._speed
            for each in held.values():
                self._events.call_later(told, each.listener.drain)
                self._events.call_later(ended, self._finish, each.listener)

    def _listen(
        self, pod: json.JsonObject, container: json.JsonObject, address: str, port: int
    ) -> None:
        answers = server_answers.Answers(
            self._identity(pod, container),
            self._behaviour(pod, container),
            self._chance,
        )
        try:
            listener = listeners.bind(address, port, answers.handle)
        except OSError as problem:
            title = f"{objects.namespace(pod)}/{objects.name(pod)}"
            self.problems[f"pod {title} cannot listen on port {port}: {problem.strerror}"] = None
            return
        server = Server(str(container["name"]), port, answers, listener)
        self._servers[objects.uid(pod)][port] = server
        self._start(listener.start())

    def _finish(self, listener: listeners.Listener) -> None:
        self._start(listener.finish())

    def _gone(self, pod: json.JsonObject) -> None:
        uid = objects.uid(pod)
        held = self._servers.pop(uid, {})
        address = self._addresses.pop(uid, "")
        for each in held.values():
            self._remember(each)
        if held:
            self._start(self._stop(tuple(held.values()), address))
        elif address:
            self._block.give_back(address)

    async def _stop(self, held: tuple[Server, ...], address: str) -> None:
        for each in held:
            if each.listener.is_busy:  # longer than its grace period: killed
                each.listener.abort()
        await asyncio.gather(*(each.listener.stop(_GRACE) for each in held))
        self._block.give_back(address)

    def _remember(self, server: Server) -> None:
        now = self._events.time()
        self.past = [each for each in self.past if each.ended > now - 600]
        self.past.append(Past(server.answers, now))

    def _start(self, work: "asyncio._CoroutineLike[None]") -> None:
        task = self._events.create_task(work)  # held until it ends
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _behaviour(
        self, pod: json.JsonObject, container: json.JsonObject
    ) -> Callable[[], behaviours.Behaviour]:
        image, annotations = str(container.get("image") or ""), objects.annotations(pod)
        known: tuple[int, behaviours.Behaviour] | None = None

        def behaviour() -> behaviours.Behaviour:
            nonlocal known
            if known is None or known[0] != self._rules.version:
                known = (self._rules.version, behaviours.of(image, annotations, self._rules))
            return known[1]

        return behaviour

    def _identity(self, pod: json.JsonObject, container: json.JsonObject) -> exposition.Identity:
        labels = objects.labels(pod)
        return exposition.Identity(
            cluster=self._cluster,
            namespace=objects.namespace(pod),
            pod=objects.name(pod),
            workload=workload(self._seen, pod),
            app=next((labels[each] for each in _APP_LABELS if each in labels), ""),
            version=version(str(container.get("image") or "")),
            variant=variant(labels),
        )


def ports(container: json.JsonObject) -> list[int]:
    """The TCP ports a container listens on."""
    declared = [
        int(each["containerPort"])
        for each in container.get("ports") or ()
        if (each.get("protocol") or "TCP") == "TCP"
    ]
    return declared or [DEFAULT_PORT]


def workload(seen: view.View, pod: json.JsonObject) -> str:
    """What a pod belongs to: the Deployment of its ReplicaSet, its controller, or itself."""
    owner = objects.controller(pod)
    if owner is None:
        return objects.name(pod)
    if owner.get("kind") == "ReplicaSet":
        found = seen.get("ReplicaSet", objects.namespace(pod), str(owner["name"]))
        above = objects.controller(found) if found is not None else None
        return str((above or owner)["name"])
    return str(owner["name"])


def version(image: str) -> str:
    """The tag of an image, or the begin of its digest."""
    plain, _, digest = image.partition("@")
    if digest:
        return digest.rpartition(":")[2][:12]
    name, colon, tag = plain.rpartition(":")
    return tag if colon and "/" not in tag and name else "latest"


def variant(labels: Mapping[str, str]) -> str:
    """The value of a label such as ``pipecd.dev/variant``; empty without one."""
    return next((value for key, value in labels.items() if key.endswith(_VARIANT)), "")


def _running(pod: json.JsonObject) -> set[str]:
    statuses = objects.status(pod).get("containerStatuses") or ()
    return {str(each["name"]) for each in statuses if "running" in (each.get("state") or {})}
