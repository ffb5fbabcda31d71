"""Real Envoy before the Services of a sandbox cluster, fed through files that it watches.

What is told is `envoy_config`; this module writes it when the cluster changes. A file is
replaced as a whole, endpoints before clusters, clusters before the routes that lead to them;
a cluster once told stays, as routes may still lead there for a moment.
"""

import asyncio
import hashlib
import json as text
import os
from pathlib import Path

from kube_sandbox import json
from kube_sandbox.apiserver.registry import registry
from kube_sandbox.apiserver.storage import storage
from kube_sandbox.controllers.framework import view
from kube_sandbox.dataplane import programs
from kube_sandbox.dataplane.proxies import envoy_config
from kube_sandbox.dataplane.routes import lookup

#: On the cluster's gateway address; Istio's port for outgoing requests.
PORT = 15001
ADMIN_PORT = 15000
_NAME = "envoy"
#: Seconds in which changes are gathered.
_GATHER = 0.005
#: Seconds that Envoy gets to take in new clusters before routes lead there.
_AHEAD = 0.05


def is_installed() -> bool:
    """Tell whether there is an Envoy."""
    return programs.find(_NAME) is not None


class Envoy:
    """A running Envoy that follows a cluster; made by `start`."""

    def __init__(self, cluster: registry.Registry, seen: view.View, directory: Path) -> None:
        self._seen = seen
        self._directory = directory
        self._events = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._written: dict[str, str] = {}
        self._clusters: dict[str, json.JsonObject] = {}
        self._known = 0
        self._unsubscribe = cluster.subscribe(self._note)
        self.program: programs.Program | None = None

    async def stop(self) -> None:
        """End it."""
        self._unsubscribe()
        if self._timer is not None:
            self._timer.cancel()
        if self.program is not None:
            await self.program.stop()

    def _note(self, change: storage.Change) -> None:
        if self._timer is None and (change.bucket in lookup.KINDS or change.bucket == "pods"):
            self._timer = self._events.call_later(_GATHER, self.write)

    def write(self) -> None:
        """Tell Envoy what the cluster says now."""
        self._timer = None
        snapshot = envoy_config.take(self._seen)
        gone = self._clusters.keys() - snapshot.endpoints.keys()
        for name, assignment in snapshot.endpoints.items():
            self._put_endpoints(name, assignment)
        self._put("cds.json", list(self._clusters.values()))
        # Envoy reads each file by itself, in its own time. So what routes lead to is there before
        # they do, and keeps its pods until none does.
        has_new = len(self._clusters) > self._known > 0
        self._known = len(self._clusters)
        if has_new or (self._put("rds.json", [snapshot.routes]) and gone):
            # Looks again, so that what has changed meanwhile is not forgotten.
            self._timer = self._events.call_later(_AHEAD, self.write)
            return
        for name in gone:
            self._put_endpoints(name, _empty(name))

    def _put_endpoints(self, name: str, assignment: json.JsonObject) -> None:
        path = f"eds-{hashlib.sha256(name.encode()).hexdigest()[:16]}.json"
        self._put(path, [assignment])
        self._clusters[name] = envoy_config.cluster_of(name, str(self._directory / path))

    def _put(self, name: str, resources: list[json.JsonObject]) -> bool:
        """Write a file unless it says so already; tell whether it was written."""
        written = text.dumps(resources, sort_keys=True)
        if self._written.get(name) == written:
            return False
        self._written[name] = written
        path = self._directory / name
        version = hashlib.sha256(written.encode()).hexdigest()[:16]
        fresh = path.with_suffix(".new")
        fresh.write_text(text.dumps({"version_info": version, "resources": resources}))
        os.replace(fresh, path)
        return True


def _empty(name: str) -> json.JsonObject:
    return {
        "@type": "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment",
        "cluster_name": name,
        "endpoints": [],
    }


async def start(
    cluster: registry.Registry, seen: view.View, *, address: str, directory: Path
) -> Envoy:
    """Run Envoy for a cluster; its files and its log go to `directory`.

    Raises:
        UserError: It is not installed or does not come up.
    """
    made = Envoy(cluster, seen, directory)
    try:
        made.write()
        begin = directory / "envoy.json"
        begin.write_text(
            text.dumps(
                envoy_config.bootstrap(
                    address=address, port=PORT, admin_port=ADMIN_PORT, files=str(directory)
                )
            )
        )
        words = ["-c", str(begin), "--concurrency", "1", "--disable-hot-restart"]
        words += ["--log-level", "warning"]
        made.program = await programs.start(
            _NAME, words, log=directory / "envoy.log", directory=directory
        )
        await made.program.until(lambda: programs.listens(address, PORT))
    except BaseException:
        # Also when we are cancelled: nobody else knows about the program.
        await made.stop()
        raise
    return made
