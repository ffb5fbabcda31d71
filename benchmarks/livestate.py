"""``python -m benchmarks.livestate``: what following live objects costs; writes ``livestate.md``.

Each candidate works in a process of its own and is fed the same lines as a watch would send them.
*Bare* decodes each line and keeps the object, as a watch with a table of objects does. *Volary*
keeps what live state keeps. The way from a change to the screen is measured on a sandbox cluster,
beside a bare watch of the same object in the same process.
"""

import argparse
import asyncio
import gc
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from benchmarks import drifting

_ROOT = Path(__file__).parents[1]
_OUTPUT = Path(__file__).parent / "livestate.md"
#: Objects of one application in one cluster.
_EACH = 7
_CHANGES = 20


@dataclass(frozen=True, slots=True)
class Held:
    """What one process needed."""

    objects: int
    #: Bytes of resident memory for each object.
    memory: float
    #: Microseconds of CPU time for each object of the first list.
    listed: float
    #: Microseconds of CPU time for each change of a pod, and of an applied object.
    pod: float
    applied: float


def lines(number: int, cluster: int, *, restarts: int = 0, ready: int = 2) -> Iterator[bytes]:
    """Yield the objects of one application in one cluster, as a watch sends them."""
    name, owner = f"app-{number}", f"{number:016x}"
    place = f"{cluster}-{number}"
    tracked = {
        "volary.dev/managed-by": "volary",
        "volary.dev/application": name,
        "volary.dev/application-id": owner,
    }
    annotations = {
        **tracked,
        "volary.dev/commit": f"{number:040x}",
        "volary.dev/resource-key": f"apps:Deployment:team-{number % 50}:{name}",
        "volary.dev/variant": "primary",
    }

    def metadata(kind: str, **more: Any) -> dict[str, Any]:
        return {
            "name": f"{name}-{kind}",
            "namespace": f"team-{number % 50}",
            "uid": f"{kind}-0000-4000-8000-{place}",
            "resourceVersion": f"{cluster}{number}{restarts}",
            "creationTimestamp": "2026-06-01T12:00:00Z",
            "labels": {"app": name, **tracked},
            "annotations": annotations,
            "managedFields": [_FIELDS, _STATUS_FIELDS],
            **more,
        }

    def below(kind: str, owner_kind: str) -> dict[str, Any]:
        references = [
            {
                "apiVersion": "apps/v1",
                "kind": "Owner",
                "name": name,
                "uid": f"{owner_kind}-0000-4000-8000-{place}",
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ]
        made = {"labels": {"app": name}, "annotations": {}, "ownerReferences": references}
        return metadata(kind, **made)

    template = {"metadata": {"labels": {"app": name}}, "spec": _pod_spec(name)}
    counts = ("replicas", "readyReplicas", "availableReplicas", "updatedReplicas")
    state = {"observedGeneration": 1, **dict.fromkeys(counts, ready)}
    bodies: list[dict[str, Any]] = [
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": metadata("deployment"),
            "spec": {
                "replicas": 2,
                "selector": {"matchLabels": {"app": name}},
                "template": template,
            },
            "status": {**state, "conditions": _CONDITIONS},
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": metadata("service"),
            "spec": {"selector": {"app": name}, "ports": [{"port": 80, "targetPort": 8080}]},
        },
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": metadata("configmap"),
            "data": {f"key-{key}": f"value {key} of {name}" for key in range(10)},
        },
        {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": below("set", "deployment"),
            "spec": {"replicas": 2, "template": template},
            "status": state,
        },
        *(_pod(name, below(f"pod{index}", "set"), restarts) for index in range(2)),
        {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": below("slice", "service"),
            "endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": True}}] * 2,
        },
    ]
    return (msgspec.json.encode({"type": "MODIFIED", "object": body}) for body in bodies)


_FIELDS = {
    "manager": "volary",
    "operation": "Apply",
    "apiVersion": "apps/v1",
    "time": "2026-06-01T12:00:00Z",
    "fieldsType": "FieldsV1",
    "fieldsV1": {
        "f:metadata": {"f:labels": {"f:app": {}}, "f:annotations": {"f:volary.dev/commit": {}}},
        "f:spec": {
            "f:replicas": {},
            "f:selector": {},
            "f:template": {
                "f:spec": {
                    "f:containers": {
                        'k:{"name":"web"}': {".": {}, "f:image": {}, "f:name": {}, "f:ports": {}}
                    }
                }
            },
        },
    },
}
_STATUS_FIELDS = {
    "manager": "kube-controller-manager",
    "operation": "Update",
    "subresource": "status",
    "apiVersion": "apps/v1",
    "time": "2026-06-01T12:00:00Z",
    "fieldsType": "FieldsV1",
    "fieldsV1": {"f:status": {"f:conditions": {}, "f:replicas": {}, "f:readyReplicas": {}}},
}
_CONDITIONS = [
    {
        "type": kind,
        "status": "True",
        "reason": "MinimumReplicasAvailable",
        "message": "Deployment has minimum availability.",
        "lastTransitionTime": "2026-06-01T12:00:00Z",
        "lastUpdateTime": "2026-06-01T12:00:00Z",
    }
    for kind in ("Available", "Progressing")
]


def _pod_spec(name: str) -> dict[str, Any]:
    probe = {"httpGet": {"path": "/", "port": 8080}, "periodSeconds": 10, "failureThreshold": 3}
    return {
        "containers": [
            {
                "name": "web",
                "image": f"registry.example.org/{name}:v1",
                "ports": [{"containerPort": 8080, "protocol": "TCP"}],
                "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}},
                "env": [{"name": f"SETTING_{one}", "value": str(one)} for one in range(8)],
                "readinessProbe": probe,
                "livenessProbe": probe,
            }
        ],
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "schedulerName": "default-scheduler",
    }


def _pod(name: str, metadata: dict[str, Any], restarts: int) -> dict[str, Any]:
    conditions = ("PodScheduled", "Initialized", "ContainersReady", "Ready")
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {**_pod_spec(name), "nodeName": "node-1"},
        "status": {
            "phase": "Running",
            "podIP": "10.0.0.1",
            "conditions": [
                {"type": kind, "status": "True", "lastTransitionTime": "2026-06-01T12:00:00Z"}
                for kind in conditions
            ],
            "containerStatuses": [
                {
                    "name": "web",
                    "ready": True,
                    "restartCount": restarts,
                    "image": f"registry.example.org/{name}:v1",
                    "state": {"running": {"startedAt": "2026-06-01T12:00:00Z"}},
                }
            ],
        },
    }


class _Line(msgspec.Struct):
    type: str
    object: dict[str, Any]


_DECODER = msgspec.json.Decoder(_Line)


class Bare:
    """A table of objects."""

    def __init__(self, clusters: int) -> None:
        self._kept: list[dict[str, Any]] = [{} for _ in range(clusters)]

    def take(self, cluster: int, line: bytes) -> None:
        """Keep what a line says."""
        body = _DECODER.decode(line).object
        self._kept[cluster][body["metadata"]["uid"]] = body


class Live:
    """What live state keeps."""

    def __init__(self, clusters: int) -> None:
        from volary.livestate import cluster_objects, entries, secret_digests, sources

        self._kept = [cluster_objects.ClusterObjects() for _ in range(clusters)]
        self._entries = entries
        self._reading = entries.Reading(mask=lambda body: secret_digests.with_digests(body, b"k"))
        applied = ("Deployment", "Service", "ConfigMap")
        self._sources = {
            kind: sources.Source(
                sources.Role.APPLIED if kind in applied else sources.Role.CHILDREN, group, kind
            )
            for group, kind in (
                ("apps", "Deployment"),
                ("", "Service"),
                ("", "ConfigMap"),
                ("apps", "ReplicaSet"),
                ("", "Pod"),
                ("discovery.k8s.io", "EndpointSlice"),
            )
        }

    def take(self, cluster: int, line: bytes) -> None:
        """Keep what a line says."""
        body = _DECODER.decode(line).object
        source = self._sources[body["kind"]]
        for entry in self._entries.read_all(source, (body,), self._reading).entries:
            self._kept[cluster].keep(source, entry)


def hold(candidate: str, applications: int, clusters: int) -> Held:
    """Have a candidate take everything, then changes, in this process."""
    kept = (Bare if candidate == "bare" else Live)(clusters)
    # What all of them are made of is there before anything is measured.
    for line in lines(0, 0):
        kept.take(0, line)
    gc.collect()
    before, spent = _resident(), 0.0
    for cluster in range(clusters):
        for number in range(1, applications):
            spent += _taken(kept, cluster, list(lines(number, cluster)))
    gc.collect()
    count = clusters * (applications - 1) * _EACH
    memory = (_resident() - before) / count
    some = range(1, min(applications, 1000))
    pods = [line for number in some for line in list(lines(number, 0, restarts=1))[4:6]]
    changed = [next(lines(number, 0, restarts=2, ready=1)) for number in some]
    of_pods = _taken(kept, 0, pods) / len(pods)
    of_applied = _taken(kept, 0, changed) / len(changed)
    return Held(count, memory, spent / count * 1e6, of_pods * 1e6, of_applied * 1e6)


def _taken(kept: Bare | Live, cluster: int, every: list[bytes]) -> float:
    began = time.process_time()
    for line in every:
        kept.take(cluster, line)
    return time.process_time() - began


def _resident() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def apart(candidate: str, applications: int, clusters: int) -> Held:
    """Measure a candidate in a process of its own."""
    argv = [sys.executable, "-m", "benchmarks.livestate", "--hold", candidate]
    argv += ["--applications", str(applications), "--clusters", str(clusters)]
    done = subprocess.run(argv, check=True, capture_output=True, cwd=_ROOT)
    return Held(**json.loads(done.stdout))


@dataclass(frozen=True, slots=True)
class Way:
    """From a change in the cluster until it is known; medians, milliseconds."""

    bare: float
    #: To whoever looks at the tree.
    screen: float
    #: For how long changes wait for others.
    coalesced: float


async def way() -> Way:
    """Change an object again and again, and measure when it is known."""
    from kube_sandbox import fleet as sandbox_fleet
    from volary.clusters.client import client_pool
    from volary.clusters.inventory import inventory, inventory_store
    from volary.controller import system_clock
    from volary.livestate import live_state
    from volary.manifests.ownership import tracking
    from volary.model.fleet import fleets
    from volary.model.objects import manifest, ownership

    clock = system_clock.SystemClock()
    owner = ownership.Owner("shop", "0" * 16)
    body: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "settings",
            "namespace": "default",
            "labels": tracking.owner_labels(owner),
            "annotations": {
                tracking.MANAGED_BY: tracking.VOLARY,
                tracking.APPLICATION: owner.name,
                tracking.APPLICATION_ID: owner.id,
            },
        },
    }
    settings = sandbox_fleet.Settings(tls=False, seed=1)
    async with sandbox_fleet.start(["us"], settings=settings) as running:
        path = str(running.clusters["us"].kubeconfig_path)
        members = fleets.Fleet((fleets.Cluster("us", kubeconfig=(path,)),))
        async with client_pool.open_pool(members, clock=clock) as clients:
            live = live_state.LiveState(clients, clock)
            client: Any = await clients.client("us")
            kind = (await client.discover()).find("", "ConfigMap")
            await client.apply(kind, body)
            key = manifest.ResourceKey("", "ConfigMap", "default", "settings")
            known = inventory.Inventory(owner, "default")
            after = known.with_references([inventory.Reference(key, "v1")])
            await inventory_store.record(client, known, after)
            heard: asyncio.Queue[float] = asyncio.Queue()

            async def listen() -> None:
                selector = f"{tracking.MANAGED_BY}={tracking.VOLARY}"
                async for event in client.watch(kind, label_selector=selector):
                    if event.kind != "RELISTED":
                        heard.put_nowait(time.perf_counter())

            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(listen()), group.create_task(live.keep_following())]
                while not (live.is_current("us") and live.tree("us", owner).tree.nodes):
                    await live.changed(0.1)
                bare, screen = [], []
                for number in range(_CHANGES):
                    at = live.tree("us", owner).version
                    body["metadata"]["annotations"][tracking.COMMIT] = f"{number:040x}"
                    began = time.perf_counter()
                    await client.apply(kind, body)
                    while live.changes("us", owner, at) is None:
                        await live.changed(5)
                    screen.append(time.perf_counter() - began)
                    bare.append(await heard.get() - began)
                for task in tasks:
                    task.cancel()
    return Way(
        statistics.median(bare) * 1000,
        statistics.median(screen) * 1000,
        live_state.COALESCED * 1000,
    )


def main() -> None:
    """Measure, and write what was found."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.livestate", description=__doc__)
    parser.add_argument("--applications", type=int, default=1000)
    parser.add_argument("--clusters", type=int, default=20)
    parser.add_argument("--hold", choices=("bare", "volary"), help=argparse.SUPPRESS)
    parser.add_argument("--output", type=Path, default=_OUTPUT, help="file to write")
    parser.add_argument("--only", choices=("drift",), help="measure one section, keep the rest")
    chosen = parser.parse_args()
    if chosen.hold:
        held = hold(chosen.hold, chosen.applications, chosen.clusters)
        sys.stdout.write(json.dumps({name: getattr(held, name) for name in held.__slots__}))
        return
    drift = drifting.render(
        [drifting.measure(size) for size in drifting.SIZES],
        drifting.measure_fleet(*drifting.FLEET),
    )
    if chosen.only:
        rest, _, _ = chosen.output.read_text().partition(drifting.HEADING)
        chosen.output.write_text(rest + drift)
        return
    bare = apart("bare", chosen.applications, 1)
    live = apart("volary", chosen.applications, chosen.clusters)

    went = asyncio.run(way())
    page = render(chosen.applications, chosen.clusters, bare, live, went)
    chosen.output.write_text(page + drift)


def render(applications: int, clusters: int, bare: Held, live: Held, went: Way) -> str:
    """Return the page."""
    rows = [
        ("memory per object", "bytes", bare.memory, live.memory),
        ("CPU per object of a first list", "µs", bare.listed, live.listed),
        ("CPU per change of a pod", "µs", bare.pod, live.pod),
        ("CPU per change of an applied object", "µs", bare.applied, live.applied),
        ("from a change to whoever looks", "ms", went.bare, went.screen),
    ]
    table = "\n".join(
        f"| {what} | {first:.0f} {unit} | {second:.0f} {unit} | {second / first:.2f} × |"
        for what, unit, first, second in rows
    )
    return f"""# What following live objects costs

`python -m benchmarks.livestate` measures and writes this page: {applications} applications on
{clusters} clusters, {live.objects:,} objects, fed to what live state keeps as a watch would send
them; {_EACH} objects each: a Deployment, a Service and a ConfigMap that were applied, and the
ReplicaSet, the pods and the EndpointSlice that came of them.

*Bare* decodes the same lines and keeps each object in a table, on one cluster ({bare.objects:,}
objects: all of them would not fit). Both decode in the same way, so ratios compare what is done
besides. Times depend on the machine; ratios less so. Measured on
{os.cpu_count()} cores, Python {sys.version.split()[0]}.

| | bare watch | Volary | ratio |
| --- | --- | --- | --- |
{table}

In all, {live.memory * live.objects / (1 << 20):.0f} MiB for everything of {applications}
applications on {clusters} clusters. A change waits {went.coalesced:.0f} ms for others before it is
told, so that many at once are told once: without that the last line is
{(went.screen - went.coalesced) / went.bare:.2f} × a bare watch.
"""


if __name__ == "__main__":
    main()
