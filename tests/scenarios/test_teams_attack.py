"""Two teams that share a server and a fleet attack each other with commits, in a seeded order.

Each commit is waited for until the server has decided about it. Whatever a team pushes, the watcher
sees not one object of the other changed, nor one of the cluster, and the server goes on answering.
"""

import asyncio
import contextlib
import json
import random
import shutil
import statistics
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pygit2
from aiohttp import web

import command_world
import process_time
import server_processes
import warm_processes
from kube_sandbox.apiserver import server
from kube_sandbox.apiserver.access import request_info
from kube_sandbox.apiserver.storage import storage

SEED = 14
#: The teams, and what the application of each is called.
TEAMS = {"reed": "heron", "moss": "otter"}
#: Which clusters each of them may deploy to, and therefore know.
CLUSTERS = {"reed": ("us", "lagoon"), "moss": ("us",)}
RBAC = "rbac.authorization.k8s.io"
SETTLED = {"synced", "failed", "refused", "broken", "rolled_back", "orphaned", "cancelled"}
#: What controllers of a cluster write by themselves all the time.
_NOISE = {"Event", "Lease"}
#: What the wish for an object is not: it is left out when states of it are compared.
_NO_WISH = {"resourceVersion", "managedFields", "generation"}

DEFINITIONS = """\
apiVersion: volary.dev/v1
kind: Project
metadata: {name: TEAM}
spec:
  sources: [{repository: TEAM}]
  destinations: [{clusters: {names: [CLUSTERS]}, namespaces: [TEAM]}]
  kinds:
    denied: [{kind: ResourceQuota}, {group: rbac.authorization.k8s.io}, {group: networking.k8s.io}]
  limits: {objects: 20, renderedBytes: 100000}
  impersonate: {serviceAccount: {namespace: TEAM, name: volary-deployer}}
---
apiVersion: volary.dev/v1
kind: Workspace
metadata: {name: TEAM}
spec:
  project: TEAM
  clusters: {names: [CLUSTERS]}
  namespaces: [{name: TEAM}]
  quota: {hard: {pods: 20}}
"""

Files = Mapping[str, str | Path]


def manifest(kind: str, name: str, version: str = "v1", **more: Any) -> dict[str, Any]:
    metadata = {"name": name, **more.pop("metadata", {})}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **more}


def application(name: str, **spec: Any) -> str:
    return json.dumps(manifest("Application", name, "volary.dev/v1", spec=spec))


def targets(team: str) -> list[dict[str, Any]]:
    return [{"target": {"name": name}} for name in CLUSTERS[team]]


def deployment(name: str, namespace: str, version: str, **metadata: Any) -> str:
    labels = {"app": name}
    container = {"name": name, "image": f"example/{name}:{version}"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    placed = {"namespace": namespace, **metadata}
    return json.dumps(manifest("Deployment", name, "apps/v1", metadata=placed, spec=spec))


def settings(name: str, namespace: str, **more: Any) -> str:
    metadata = {"namespace": namespace, **more}
    return json.dumps(manifest("ConfigMap", name, metadata=metadata, data={"key": "value"}))


@dataclass(frozen=True)
class Attack:
    """Files of an application's directory, and what has to become of them."""

    #: What has to be said about them. Empty: it is no more than odd, and is released without harm.
    words: str
    files: Files
    #: What the server calls the application.
    application: str = "DIRECTORY"
    message: str = "Try it"


class Watcher:
    """Sees every change of every object, and who asked for what."""

    def __init__(self) -> None:
        #: Who may change something now; empty: everybody.
        self.turn = ""
        self.faults: list[str] = []
        self.seen = 0
        self._wishes: dict[tuple[str, str, storage.Key], str] = {}

    @property
    def middleware(self) -> server.Middleware:
        """What stands in front of the API servers: no team asks for a change of the other's."""

        @web.middleware
        async def hear(request: web.Request, handler: server.Handler) -> web.StreamResponse:
            asked = request_info.read(request.method, request.path, request.query)
            who = request.headers.get("Impersonate-User", "")
            whose = who.split(":")[2] if who.startswith("system:serviceaccount:") else ""
            if asked.verb not in ("get", "list", "watch") and whose:
                self.seen += 1
                reviews = asked.resource.startswith("selfsubject")
                if not reviews and asked.namespace != whose:
                    self.faults.append(f"{who}: {request.method} {request.path}")
            return await handler(request)

        return hear

    def follow(self, cluster: str, change: storage.Change) -> None:
        """Compare what is wanted of an object with what was."""
        body = change.item.body
        if body["kind"] in _NOISE:
            return
        known = (cluster, change.bucket, change.item.key)
        wish = "" if change.event == storage.Event.DELETED else _wish(body)
        before = self._wishes.pop(known, "")
        if wish:
            self._wishes[known] = wish
        namespace = body["metadata"].get("namespace", "")
        if self.turn and namespace != self.turn and wish != before:
            what = f"{change.event} {cluster} {body['kind']} {namespace}/{body['metadata']['name']}"
            self.faults.append(f"turn of {self.turn}: {what}")


def _wish(body: Mapping[str, Any]) -> str:
    wanted = {key: value for key, value in body.items() if key != "status"}
    metadata = {key: value for key, value in body["metadata"].items() if key not in _NO_WISH}
    return json.dumps({**wanted, "metadata": metadata}, sort_keys=True)


@dataclass
class Team:
    """A team, its repository, and the one that it wants to harm."""

    name: str
    directory: Path
    #: How often it has released something decent.
    version: int = 0

    @property
    def application(self) -> str:
        return TEAMS[self.name]

    @property
    def other(self) -> str:
        return next(name for name in TEAMS if name != self.name)

    @property
    def victim(self) -> str:
        return TEAMS[self.other]

    def commit(self, files: Files, directory: str, message: str) -> str:
        """Commit the application, and exactly these files in a directory besides."""
        for old in self.directory.glob("raid-*"):
            shutil.rmtree(old)
        own = self.directory / "own"
        own.mkdir(exist_ok=True)
        (own / "volary.yaml").write_text(
            application(
                self.application,
                quickSync={"prune": True},
                input={"multiTargets": targets(self.name)},
            )
        )
        image = f"v{self.version}"
        (own / "deployment.yaml").write_text(deployment(self.application, self.name, image))
        (own / "config.yaml").write_text(settings("own", self.name))
        for name, content in files.items():
            file = self.directory / directory / name
            file.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, Path):
                file.symlink_to(content)
            else:
                file.write_text(content.replace("DIRECTORY", directory))
        return command_world.commit(self.directory, message)


def attacks(team: Team, inventories: Mapping[str, dict[str, Any]]) -> Iterator[Attack]:
    """Yield what a team tries against the other."""
    me, other, victim = team.name, team.other, team.victim
    app = {"volary.yaml": application("DIRECTORY", input={"multiTargets": targets(me)})}
    refused = f"project {me} may not deploy"
    elsewhere = f"{refused} to namespace {other} of us"
    rbac = f"({RBAC})"

    def with_object(words: str, text: str, **more: Any) -> Attack:
        return Attack(words, {**app, "object.yaml": text}, **more)

    def made(words: str, kind: str, name: str, group: str = "", **more: Any) -> Attack:
        version = f"{group}/v1" if group else "v1"
        return with_object(words, json.dumps(manifest(kind, name, version, **more)))

    def with_spec(words: str, **spec: Any) -> Attack:
        spec["input"] = {"multiTargets": targets(me), **spec.get("input", {})}
        files = {"volary.yaml": application("DIRECTORY", **spec), "own.yaml": settings("raid", me)}
        return Attack(words, files)

    def kustomized(words: str, **fields: Any) -> Attack:
        text = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", **fields}
        return Attack(words, {**app, "kustomization.yaml": json.dumps(text)})

    # The other's objects, as they are called, claimed and labelled.
    yield with_object(elsewhere, deployment(victim, other, "evil"))
    claim = {"annotations": {"volary.dev/take-over": f"volary:{victim}"}}
    yield with_object(elsewhere, deployment(victim, other, "evil", **claim))
    ours = {"labels": dict(inventories[me]["metadata"]["labels"])}
    yield with_object(elsewhere, settings("own", other, **ours))
    nested: Any = {"apiVersion": "v1", "kind": "List", "items": [json.loads(settings("x", other))]}
    yield with_object(elsewhere, json.dumps(nested))
    route = {"hosts": [victim], "http": [{"route": [{"destination": {"host": "raid"}}]}]}
    networking = "networking.istio.io"
    placed = {"namespace": other}
    yield made(elsewhere, "VirtualService", victim, networking, metadata=placed, spec=route)
    # Its own application of the other's name has its own namespace, and its own name here.
    yield Attack(
        "",
        {
            **app,
            "volary.yaml": app["volary.yaml"].replace("DIRECTORY", victim),
            "d.yaml": deployment(victim, me, "evil"),
        },
        application=f"{victim}.{me}-DIRECTORY",
    )
    yield with_spec(f"no project {other} takes", project=other)
    # All clusters, whichever there are.
    outside = f"{refused} to 1 cluster of 2 that the application's targets choose"
    everywhere = "" if len(CLUSTERS[me]) > 1 else outside
    yield with_spec(everywhere, input={"multiTargets": []})
    # What is the cluster's.
    bound: Any = {"apiGroup": RBAC, "kind": "ClusterRole", "name": "cluster-admin"}
    whom = [{"kind": "ServiceAccount", "name": "volary-deployer", "namespace": me}]
    rights: Any = {"roleRef": bound, "subjects": whom}
    yield made(f"{refused} ClusterRoleBinding {rbac}", "ClusterRoleBinding", "all", RBAC, **rights)
    inside: Any = {"metadata": {"namespace": me}}
    yield made(
        f"{refused} ClusterRoleBinding {rbac}",
        "ClusterRoleBinding",
        "in",
        RBAC,
        **rights,
        **inside,
    )
    yield made(
        f"{refused} RoleBinding {rbac}",
        "RoleBinding",
        "volary-deployer",
        RBAC,
        **rights,
        **inside,
    )
    yield made(f"{refused} Namespace", "Namespace", other)
    as_others = {"apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["impersonate"]}
    yield made(f"{refused} ClusterRole {rbac}", "ClusterRole", "o", RBAC, rules=[as_others])
    # What the platform team put into its own namespace.
    quota: Any = {"spec": {"hard": {"pods": 1000}}}
    yield made(f"{refused} ResourceQuota", "ResourceQuota", "volary-quota", **quota, **inside)
    policy: Any = {"spec": {"podSelector": {}, "ingress": [{}], "policyTypes": ["Ingress"]}}
    of_networks = "networking.k8s.io"
    yield made(
        f"{refused} NetworkPolicy ({of_networks})",
        "NetworkPolicy",
        "volary-isolation",
        of_networks,
        **policy,
        **inside,
    )
    # A ServiceAccount of the other, asked for a token by a Secret.
    account = {"kubernetes.io/service-account.name": "volary-deployer"}
    token: Any = {"namespace": other, "annotations": account}
    yield made(elsewhere, "Secret", "t", type="kubernetes.io/service-account-token", metadata=token)
    yield with_spec(
        f"{refused} to namespace {me}-more of us",
        input={"namespace": f"{me}-more", "autoCreateNamespace": True},
    )
    yield with_spec(elsewhere, input={"namespace": other})
    move = {"path": "/metadata/namespace", "operator": "replace", "value": other}
    override = {"resources": [{"kind": "ConfigMap"}], "patches": [move]}
    yield with_spec(elsewhere, placement={"overrides": [override]})
    # What takes long, or is large.
    endless = {"name": "SCRIPT_RUN", "with": {"run": "while true; do :; done"}}
    yield with_spec(
        f"project {me} may not run scripts (SCRIPT_RUN)", pipeline={"stages": [endless]}
    )
    slow = with_spec("", commitMatcher={"pipeline": "^(a+)+$"})
    yield Attack(slow.words, slow.files, message="a" * 50 + "!")
    many = [json.loads(settings(f"raid-{number}", me)) for number in range(3000)]
    yield with_object(f"project {me} may have 20 objects", json.dumps({**nested, "items": many}))
    large: Any = {"name": "raid", "namespace": me, "literals": ["key=" + "x" * 200_000]}
    inline: Any = {"apiVersion": "builtin", "kind": "ConfigMapGenerator", **large}
    inline["metadata"] = {"name": inline.pop("name"), "namespace": inline.pop("namespace")}
    yield kustomized(
        f"project {me} may have 100000 bytes of rendered", generators=[json.dumps(inline)]
    )
    remote = {**inline, "literals": [], "files": ["http://127.0.0.1:1/api/v1/audit"]}
    yield kustomized(
        "is remote, and a build never uses the network", generators=[json.dumps(remote)]
    )
    # What leads out of the repository.
    yield kustomized("is outside the repository", resources=[f"../../../{other}/own"])
    yield Attack("outside the repository", {**app, "own.yaml": Path("/etc/passwd")})
    # The inventory of its own application, which prunes, names what is the other's.
    own, theirs = inventories[me], inventories[other]
    forged = {key: own[key] for key in ("apiVersion", "kind")}
    kept = {key: own["metadata"][key] for key in ("name", "namespace", "labels", "annotations")}
    forged |= {"metadata": kept, "data": theirs["data"]}
    yield Attack("is called like a record", {**app, "forged.yaml": json.dumps(forged)})
    # That of the other's application, in a namespace of one's own, with more to prune.
    for name, words in ((kept["name"], "is called like a record"), ("forged", "")):
        marks = {key: theirs["metadata"][key] for key in ("labels", "annotations")}
        claimed = {**forged, "metadata": {**marks, "name": name, "namespace": me}}
        yield Attack(words, {**app, "forged.yaml": json.dumps(claimed)})


@dataclass
class Fight:
    """The server, the clusters, the teams, and what was answered."""

    server: server_processes.ServerProcess
    world: command_world.World
    watcher: Watcher
    teams: list[Team]
    #: Each commit, by team.
    commits: dict[str, list[str]] = field(default_factory=dict)
    answers: list[tuple[str, Attack, str, str]] = field(default_factory=list)

    async def decided(self, name: str, commit: str) -> dict[str, Any]:
        """Wait until it is known what a commit means to an application."""
        path = "/api/v1/applications"

        def mine(body: Any) -> dict[str, Any]:
            found = [each for each in body["items"] if each["name"] == name]
            done = [
                each
                for each in found
                if each["head"] == commit
                and each["status"] in SETTLED
                and (each["decided"] == commit or each["status"] in ("broken", "refused"))
            ]
            return done[0] if done else {}

        return mine(await self.server.until(path, mine))

    async def push(self, team: Team, directory: str, files: Files, message: str) -> str:
        self.watcher.turn = team.name
        commit = team.commit(files, directory, message)
        self.commits.setdefault(team.name, []).append(commit)
        return commit

    async def release(self, team: Team) -> None:
        """Have a team release something decent, which has to run."""
        team.version += 1
        commit = await self.push(team, "own", {}, f"v{team.version}")
        known = await self.decided(team.application, commit)
        assert (known["status"], known["runningCommit"]) == ("synced", commit), known
        for cluster in CLUSTERS[team.name]:
            body = self.world.find(cluster, "Deployment", team.application, team.name)
            (container,) = body["spec"]["template"]["spec"]["containers"]
            assert container["image"].endswith(f":v{team.version}")

    async def attack(self, team: Team, number: int, attack: Attack) -> None:
        directory = f"raid-{number}"
        name = attack.application.replace("DIRECTORY", directory)
        commit = await self.push(team, directory, attack.files, attack.message)
        known = await self.decided(name, commit)
        self.answers.append((team.name, attack, known["status"], known["reason"]))


@contextlib.asynccontextmanager
async def fight(base: Path) -> AsyncIterator[Fight]:
    watcher = Watcher()
    teams = [Team(name, base / name) for name in TEAMS]
    for each in (*(team.directory for team in teams), base / "platform"):
        pygit2.init_repository(str(each), initial_head="main")
    for team in teams:
        text = DEFINITIONS.replace("TEAM", team.name)
        text = text.replace("CLUSTERS", ", ".join(CLUSTERS[team.name]))
        (base / "platform" / f"{team.name}.yaml").write_text(text)
    command_world.commit(base / "platform", "Who may do what")
    names = ("platform", *TEAMS)
    async with command_world.world(
        base, *CLUSTERS["reed"], istio=True, middlewares=(watcher.middleware,)
    ) as world:
        for name, cluster in world.running.clusters.items():
            cluster.registry.subscribe(lambda change, name=name: watcher.follow(name, change))
        async with server_processes.started(
            world,
            base,
            f"sqlite:{base}/volary.db",
            repositories=[
                {"name": name, "url": str(base / name), "interval": "1s"} for name in names
            ],
            projects={"repository": "platform"},
            scripts="allow",
        ) as running:
            found = Fight(running, world, watcher, teams)
            await running.until(
                "/api/v1/workspaces",
                lambda body: [each["status"] for each in body["items"]] == ["ready", "ready"],
            )
            for team in teams:
                await found.release(team)
            yield found


async def _sample(urls: list[str], found: list[list[tuple[int, float]]]) -> None:
    """Ask servers every 100 ms, in turn, whether they live."""
    async with aiohttp.ClientSession() as session:
        while True:
            for url, samples in zip(urls, found, strict=True):
                began = time.monotonic()
                async with session.get(url + "/healthz") as answer:
                    samples.append((answer.status, time.monotonic() - began))
            await asyncio.sleep(0.1)


def _slow(samples: list[tuple[int, float]]) -> float:
    return statistics.quantiles([seconds for _, seconds in samples], n=20)[-1]


def _inventory(given: Fight, team: str) -> dict[str, Any]:
    view = given.world.running.clusters["us"].view
    (found,) = [
        each
        for each in view.list("ConfigMap", team)
        if each["metadata"]["name"].startswith("volary-inventory-")
    ]
    return dict(found)


async def test_not_one_object_of_the_other_changes(tmp_path: Path) -> None:
    dice = random.Random(SEED)
    port = tmp_path / "port"
    async with fight(tmp_path) as given, asyncio.TaskGroup() as group:
        inventories = {team: _inventory(given, team) for team in TEAMS}
        # Each attack is carried out by one of the two.
        plans = [list(attacks(team, inventories)) for team in given.teams]
        chosen = [(dice.randrange(2), number) for number in range(len(plans[0]))]
        # What is refused to one of them only is tried by that one.
        for number, (first, second) in enumerate(zip(*plans, strict=True)):
            if bool(first.words) != bool(second.words):
                chosen[number] = (int(bool(second.words)), number)
        dice.shuffle(chosen)
        async with warm_processes.call("connection_flood:serve", str(port)):
            await process_time.until(port.exists)
            samples: list[list[tuple[int, float]]] = [[], []]
            urls = [given.server.url, f"http://127.0.0.1:{port.read_text()}"]
            asking = group.create_task(_sample(urls, samples))
            for step, (who, number) in enumerate(chosen):
                await given.attack(given.teams[who], number, plans[who][number])
                if step % 5 == 4:
                    await given.release(given.teams[step // 5 % 2])
            for each in given.teams:
                await given.release(each)
            asking.cancel()
        assert given.watcher.faults == []
        # The watcher would have seen it.
        assert _touched(given, "reed", "moss") == ["turn of reed: DELETED us ConfigMap moss/own"]

    assert given.watcher.seen
    mine, calm = samples
    assert {status for status, _ in mine} == {200}
    assert _slow(mine) < max(1.0, 10 * _slow(calm)), (mine, calm)
    assert {team for team, *_ in given.answers} == set(TEAMS)
    for team, attack, status, reason in given.answers:
        _assert_answer(given, team, attack, status, reason)


def _touched(given: Fight, turn: str, other: str) -> list[str]:
    """Delete what is the other's in the turn of a team; return what the watcher says of it."""
    given.watcher.turn = turn
    registry = given.world.running.clusters["us"].registry
    registry.delete(registry.kind("v1", "ConfigMap"), other, "own")
    given.watcher.turn = ""
    return given.watcher.faults


def _assert_answer(given: Fight, team: str, attack: Attack, status: str, reason: str) -> None:
    said = f"{team}: {attack.words or 'nothing'}: {status}: {reason}"
    if not attack.words:
        assert status == "synced", said
        return
    assert status in ("refused", "broken", "failed"), said
    assert attack.words in reason, said
    other = next(name for name in TEAMS if name != team)
    for commit in given.commits[other]:
        assert commit[:7] not in reason, said
    assert TEAMS[other] not in reason, said
    for cluster in set(CLUSTERS[other]) - set(CLUSTERS[team]):
        assert cluster not in reason, said
