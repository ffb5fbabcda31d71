"""Projects over HTTP and on the command line: who sees which, and what they permit."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

import server_world
from volary.cli import forms
from volary.cli.remote import client, login, projects, queries
from volary.config.projects import project_files
from volary.gitops import project_discovery, repository_state
from volary.model import errors, server_settings
from volary.model.fleet import fleets
from volary.store import records

API = "/api/v1"
FILE = """
apiVersion: volary.dev/v1
kind: Project
metadata: {name: team-a}
spec:
  description: The shop
  sources: [{repository: shop, paths: [web]}]
  destinations:
    - {clusters: {matchLabels: {env: prod}}, namespaces: [shop, shop-*]}
  kinds: {clusterScoped: [{kind: Namespace}], denied: [{group: apps, kind: DaemonSet}]}
  limits: {runs: 2}
  roles: [{role: deployer, groups: [team-a]}]
  impersonate: {serviceAccount: {namespace: shop, name: deployer}}
---
apiVersion: volary.dev/v1
kind: Project
metadata: {name: team-b}
spec:
  sources: [{repository: shop, paths: [pay]}]
  destinations: [{namespaces: [money]}]
"""
FLEET = fleets.Fleet(
    (fleets.Cluster("us", labels={"env": "prod"}), fleets.Cluster("test", labels={"env": "test"}))
)
SETTINGS = {
    "repositories": (
        server_settings.Repository("platform", "https://git.example/platform"),
        server_settings.Repository("shop", "https://git.example/shop"),
    ),
    "projects": server_settings.ProjectFiles((), "platform", "teams"),
}


@contextlib.asynccontextmanager
async def served(directory: Path, text: str = FILE) -> AsyncIterator[server_world.Served]:
    async with server_world.served(directory, **SETTINGS) as world:
        world.made.change_fleet(FLEET)
        await say(world, text)
        for name, project in (("web", "team-a"), ("pay", "team-b")):
            known = await world.service.store.applications.get(name)
            assert known is not None
            await world.service.store.applications.keep(
                replace(known, project=project, branch="main"), fence=None
            )
        yield world


async def say(world: server_world.Served, text: str, commit: str = "c1") -> None:
    """Have the platform team's repository say something."""
    files = (project_files.TextFile("teams/a.yaml", text),)
    found = project_discovery.FoundFiles(commit, files)
    seen = repository_state.RepositoryState("platform", "main", None, project_files=found)
    await world.made.projects.take(seen, fence=None)


async def names(world: server_world.Served, headers: dict[str, str]) -> list[str]:
    _, said = await world.ask("GET", f"{API}/projects", headers=headers)
    return [project["name"] for project in said["items"]]


async def test_a_project_is_shown_with_the_clusters_that_there_are_now(tmp_path: Path) -> None:
    async with served(tmp_path) as world:
        admin = world.token("admin")
        status, said = await world.ask("GET", f"{API}/projects/team-a", headers=admin)

    assert status == 200
    assert said == {
        "name": "team-a",
        "description": "The shop",
        "sources": [{"repository": "shop", "paths": ["web"], "branches": []}],
        "destinations": [{"clusters": ["us"], "namespaces": ["shop", "shop-*"]}],
        "clusters": ["us"],
        "namespacedKinds": ["*.*"],
        "clusterScopedKinds": ["Namespace"],
        "deniedKinds": ["DaemonSet.apps"],
        "stages": None,
        "scripts": "deny",
        "limits": {"runs": 2, "clusters": 0, "objects": 0, "rendered_bytes": 0},
        "roles": [{"role": "deployer", "groups": ["team-a"], "subjects": []}],
        "identity": "system:serviceaccount:shop:deployer",
        "applications": 1,
    }


async def test_who_has_no_role_in_a_project_does_not_see_the_project(
    tmp_path: Path,
) -> None:
    async with served(tmp_path) as world:
        shop, admin = world.token("viewer", project="team-a"), world.token("viewer")
        labelled = world.token("viewer", team="shop")
        seen = [await names(world, who) for who in (labelled, shop, admin)]
        other = f"{API}/projects/team-b"
        answers = [
            await world.ask("GET", path, headers=shop)
            for path in (
                other,
                f"{other}/permission?kind=Pod",
                f"{other}/permission?application=web",
                f"{API}/projects/team-a/permission?application=pay",
                f"{API}/projects/nobody",
            )
        ]

    assert seen == [[], ["team-a"], ["team-a", "team-b"]]
    assert [status for status, _ in answers] == [404] * 5
    assert "team-b" not in str(answers[-1])


@pytest.mark.parametrize(
    ("query", "permitted", "reason"),
    [
        ("application=web", True, "team-a takes web/volary.yaml of the repository shop"),
        ("application=pay", False, "pay belongs to another project"),
        (
            "kind=ClusterRoleBinding&group=rbac.authorization.k8s.io",
            False,
            "project team-a may not deploy ClusterRoleBinding (rbac.authorization.k8s.io)",
        ),
        ("kind=DaemonSet&group=apps", False, "project team-a may not deploy DaemonSet (apps)"),
        (
            "kind=Deployment&group=apps&namespace=shop-eu",
            True,
            "team-a may deploy Deployment (apps) in namespace shop-eu",
        ),
        (
            "kind=Deployment&group=apps&namespace=money",
            False,
            "project team-a may not deploy to namespace money of us",
        ),
        ("kind=Pod&cluster=test", False, "project team-a may not deploy to cluster test"),
        ("kind=Pod&cluster=nowhere", False, "project team-a may not deploy to cluster nowhere"),
        ("kind=Namespace&namespace=shop", True, "team-a may deploy Namespace in namespace shop"),
        (
            "kind=Namespace&namespace=kube-system",
            False,
            "project team-a may not deploy to namespace kube-system of us",
        ),
        ("kind=Widget&group=example.org", False, "project team-a may not deploy Widget"),
        ("kind=Widget&group=example.org&namespace=shop", True, "team-a may deploy Widget"),
    ],
)
async def test_what_a_project_permits_is_explained(
    tmp_path: Path, query: str, permitted: bool, reason: str
) -> None:
    async with served(tmp_path) as world:
        admin = world.token("admin")
        path = f"{API}/projects/team-a/permission?{query}"
        status, said = await world.ask("GET", path, headers=admin)

    assert status == 200
    assert (said["permitted"], said["clusters"]) == (permitted, ["us"] if permitted else [])
    assert said["reason"].startswith(reason)


@pytest.mark.parametrize("query", ["", "kind=Pod", "kind=Pod&application=web&namespace=shop"])
async def test_a_question_that_cannot_be_answered_is_refused(tmp_path: Path, query: str) -> None:
    async with served(tmp_path) as world:
        admin = world.token("admin")
        path = f"{API}/projects/team-a/permission?{query}"

        assert (await world.ask("GET", path, headers=admin))[0] == 400


async def test_what_is_wrong_with_the_files_is_told_to_those_who_see_all(tmp_path: Path) -> None:
    async with served(tmp_path) as world:
        await say(world, FILE + "---\nkind: Projekt\n", "c2")
        shop, admin = world.token("viewer", "ci", project="team-a"), world.token("viewer")
        _, all_of_it = await world.ask("GET", f"{API}/project-files", headers=admin)
        _, part = await world.ask("GET", f"{API}/project-files", headers=shop)

    assert all_of_it["repository"] == "platform"
    assert all_of_it["commit"] == "c1"
    assert "did you mean Project?" in all_of_it["problem"]
    assert part == {"inUse": True, "repository": "", "commit": "", "problem": "", "unknown": ""}


@contextlib.asynccontextmanager
async def typed(world: server_world.Served) -> AsyncIterator[client.Client]:
    token = world.token("admin")["authorization"].removeprefix("Bearer ")
    async with client.Client.open(login.Target(world.url, token)) as server:
        yield server


async def test_the_list_says_what_was_not_taken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with served(tmp_path) as world, typed(world) as server:
        await say(world, "kind: Projekt\n", "c2")
        code = await projects.show_list(server, forms.Form.TEXT)

    said = capsys.readouterr()
    assert code == 0
    assert [line.split() for line in said.out.splitlines()] == [
        ["NAME", "APPLICATIONS", "CLUSTERS", "NAMESPACES", "SOURCES"],
        ["team-a", "1", "us", "shop", "and", "shop-*", "shop:web"],
        ["team-b", "1", "us", "and", "test", "money", "shop:pay"],
    ]
    assert "not taken: commit c2 of platform" in said.err


async def test_a_server_without_projects_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with server_world.served(tmp_path) as world, typed(world) as server:
        await projects.show_list(server, forms.Form.TEXT)

    assert "every repository may deploy anything anywhere" in capsys.readouterr().err


async def test_a_project_is_explained_and_what_it_refuses_is_exit_code_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with served(tmp_path) as world, typed(world) as server:
        question = projects.Question
        whole = await projects.explain(server, "team-a", question(), forms.Form.TEXT)
        shown = capsys.readouterr().out
        binding = question(kind="ClusterRoleBinding.rbac.authorization.k8s.io")
        refused = await projects.explain(server, "team-b", binding, forms.Form.TEXT)
        why = capsys.readouterr().out
        permitted = await projects.explain(
            server, "team-a", question(application="web"), forms.Form.TEXT
        )
        with pytest.raises(errors.UserError, match="belong to --object"):
            await projects.explain(server, "team-a", question(cluster="us"), forms.Form.TEXT)
        with pytest.raises(errors.UserError, match="both given"):
            await projects.explain(server, "team-a", question("web", "Pod"), forms.Form.TEXT)

    assert (whole, refused, permitted) == (0, 1, 0)
    assert "destination:     us: namespaces shop, shop-*" in shown
    assert "never:           DaemonSet.apps" in shown
    assert "limits:          runs 2" in shown
    assert "acts as:         system:serviceaccount:shop:deployer" in shown
    assert why == (
        "not permitted: project team-b may not deploy ClusterRoleBinding"
        " (rbac.authorization.k8s.io)\n"
    )


async def test_applications_are_listed_with_their_projects_when_there_are_any(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:

    async with served(tmp_path) as world, typed(world) as server:
        await queries.get(server, "apps", forms.Form.TEXT)
        with_projects = capsys.readouterr().out
        for name in ("web", "pay"):
            known = await world.service.store.applications.get(name)
            assert isinstance(known, records.ApplicationRecord)
            await world.service.store.applications.keep(
                replace(known, project="default"), fence=None
            )
        world.service.kept.notify_all()
        await queries.get(server, "apps", forms.Form.TEXT)
        without = capsys.readouterr().out

    assert with_projects.splitlines()[0].split()[:3] == ["NAME", "PROJECT", "STATUS"]
    assert with_projects.splitlines()[1].split()[:2] == ["pay", "team-b"]
    assert without.splitlines()[0].split()[:2] == ["NAME", "STATUS"]
