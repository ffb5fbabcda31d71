"""Files of kind `Project`: what they say, and every problem with its place."""

import textwrap

import pytest

from volary.config.projects import definitions, project_files
from volary.model import errors, projects, server_settings
from volary.model.placement import rollouts

SETTINGS = definitions.Surroundings(
    receivers=("chat",), repositories=("apps", "infra"), directory="/etc/volary"
)
GIT = definitions.Surroundings(receivers=("chat",), repositories=("apps", "infra"), are_in_git=True)
SHORTEST = """
apiVersion: volary.dev/v1
kind: Project
metadata: {name: team-a}
spec:
  sources: [{repository: apps}]
  destinations: [{namespaces: [shop]}]
"""
EVERYTHING = """
apiVersion: volary.dev/v1
kind: Project
metadata: {name: team-a}
spec:
  description: The shop
  sources:
    - {repository: app*, paths: [teams/a, "!teams/a/old"], branches: [main, release/*]}
  destinations:
    - clusters: {matchLabels: {env: prod}}
      namespaces: [shop, shop-*]
  kinds:
    namespaced: [{group: apps, kind: "*"}, {kind: ConfigMap}]
    clusterScoped: [{kind: Namespace}]
    denied: [{kind: Secret}]
  stages: [K8S_MULTI_SYNC, WAIT]
  scripts: allow
  limits: {runs: 2, clusters: 3, objects: 500, renderedBytes: 1000000}
  windows:
    deny: [{name: weekend, schedule: "0 18 * * FRI", duration: 60h}]
  routes: [{name: all, receiver: chat, groups: [DEPLOYMENT]}]
  roles:
    - {role: deployer, groups: [team-a], subjects: ["oidc:ana@example.org"]}
  impersonate:
    serviceAccount: {namespace: team-a, name: deployer}
  secrets:
    sops: {ageKeyFile: keys/a.txt}
"""


def parse(
    *texts: str, where: definitions.Surroundings = SETTINGS
) -> tuple[dict[str, projects.Project], list[str]]:
    files = [
        project_files.TextFile(f"{place}.yaml", textwrap.dedent(text))
        for place, text in enumerate(texts)
    ]
    loaded = project_files.parse(files, where)
    found = dict(loaded.value.of(project_files.PROJECT)) if loaded.value else {}
    return found, [str(problem).replace("\n", "; ") for problem in loaded.problems]


def test_the_shortest_project_permits_namespaced_kinds_and_no_scripts() -> None:
    found, problems = parse(SHORTEST)

    assert problems == []
    assert found == {
        "team-a": projects.Project(
            "team-a",
            sources=(projects.Source("apps"),),
            destinations=(projects.Destination(namespaces=("shop",)),),
        )
    }


def test_everything_is_read() -> None:
    found, problems = parse(EVERYTHING)

    assert problems == []
    project = found["team-a"]
    assert project.sources == (
        projects.Source("app*", ("teams/a", "!teams/a/old"), ("main", "release/*")),
    )
    assert project.destinations == (
        projects.Destination(
            rollouts.ClusterSelector(match_labels={"env": "prod"}), ("shop", "shop-*")
        ),
    )
    assert project.kinds == projects.Kinds(
        (projects.KindPattern("apps", "*"), projects.KindPattern("", "ConfigMap")),
        (projects.KindPattern("", "Namespace"),),
        (projects.KindPattern("", "Secret"),),
    )
    assert project.stages == ("K8S_SYNC", "WAIT")
    assert project.scripts is projects.ScriptRule.ALLOW
    assert project.limits == projects.ProjectLimits(2, 3, 500, 1_000_000)
    assert [window.window.name for window in project.windows.deny] == ["weekend"]
    assert [route.receiver for route in project.routes] == ["chat"]
    assert project.roles == (
        projects.ProjectRole(server_settings.Role.DEPLOYER, ("team-a",), ("oidc:ana@example.org",)),
    )
    assert project.impersonate == projects.Impersonation(
        service_account=projects.ServiceAccount("team-a", "deployer")
    )
    assert project.secrets is not None
    assert project.secrets.sops.age_key_file == "/etc/volary/keys/a.txt"


def test_several_documents_and_files_are_one_set() -> None:
    second = SHORTEST.replace("team-a", "team-b")

    found, problems = parse(f"{SHORTEST}---{second}", SHORTEST.replace("team-a", "team-c"))

    assert problems == []
    assert sorted(found) == ["team-a", "team-b", "team-c"]


def test_a_name_is_there_only_once_over_all_files() -> None:
    beside = project_files.parse([project_files.TextFile("a.yaml", SHORTEST)]).require()

    _, problems = parse(SHORTEST, SHORTEST)
    later = project_files.parse([project_files.TextFile("git.yaml", SHORTEST)], beside=beside)

    assert problems == [
        "1.yaml:4: metadata.name: the project team-a is there already, at 0.yaml:4: metadata.name"
    ]
    assert later.value is None
    assert "in a file that the settings name" in str(later.problems[0])


def test_one_problem_refuses_all_files() -> None:
    found, problems = parse(SHORTEST, "kind: Projekt\n")

    assert found == {}
    assert problems == [
        "1.yaml:1: kind: kind Projekt is not known here; hint: did you mean Project?"
    ]


def test_there_has_to_be_a_project_where_somebody_wants_them() -> None:
    empty = definitions.Definitions()

    assert "there is no project in projects/" in str(project_files.check_any(empty, "projects/")[0])
    made = project_files.parse([project_files.TextFile("a", SHORTEST)]).require()
    assert project_files.check_any(made, "a") == ()


def _changed(old: str, new: str) -> str:
    assert old in EVERYTHING
    return EVERYTHING.replace(old, new)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1]", "a document must be an object"),
        ("metadata: {name: a}", "kind is required"),
        ("# nothing", "the file says nothing"),
        ("a: [", "broken YAML"),
        (_changed("name: team-a}\nspec", "name: default}\nspec"), "is what applications belong to"),
        (_changed("name: team-a}\nspec", "name: Team_A}\nspec"), "must be lower case letters"),
        (_changed("name: team-a}\nspec", "name: ''}\nspec"), "must not be empty"),
        (_changed("description: The shop", "descripton: x"), "did you mean description?"),
        (_changed("app*", "'app[z-a]'"), "z-a is no range"),
        (_changed("app*", "'!apps'"), "would permit nothing"),
        (_changed("teams/a,", "'[',"), "its brackets do not fit"),
        (_changed("teams/a,", "../a,"), "leaves the repository"),
        (_changed("release/*", "'['"), "its brackets do not fit"),
        (_changed("shop-*", "'!kube-system'"), "would permit nothing"),
        (_changed("[shop, shop-*]", "[]"), "no namespace is named"),
        (_changed("matchLabels: {env: prod}", "names: [a], matchLabels: {b: c}"), "keep one"),
        (_changed("group: apps,", "group: apps/v1,"), "write apps"),
        (_changed("kind: ConfigMap", "kind: '['"), "its brackets do not fit"),
        (_changed("WAIT]", "K8S_CANARY_ROLOUT]"), "did you mean K8S_CANARY_ROLLOUT?"),
        (_changed("scripts: allow", "scripts: maybe"), "must be 'allow' or 'deny'"),
        (_changed("runs: 2", "runs: -1"), "must be 0 or more"),
        (_changed("duration: 60h", "duration: 0s"), "spec.windows.deny[0].duration"),
        (_changed("receiver: chat", "receiver: chatt"), "did you mean chat?"),
        (_changed("[DEPLOYMENT]", "[DEPLOY]"), "is never sent"),
        (_changed("oidc:ana@example.org", "ana"), "write oidc:ana or token:ana"),
        (
            _changed('groups: [team-a], subjects: ["oidc:ana@example.org"]', "groups: []"),
            "nobody has this role",
        ),
        (_changed("keys/a.txt}", "keys/a.txt, environment: [PATH]}"), "PATH names no key"),
        (_changed("sops: {ageKeyFile: keys/a.txt}", "sops: {ageKey: x}"), "secrets do not belong"),
        (
            _changed("  impersonate:", "  credentials: {kubeconfig: [a]}\n  impersonate:"),
            "impersonate and credentials are both given",
        ),
        (
            _changed("    serviceAccount:", "    user: robot\n    serviceAccount:"),
            "needs a user or a serviceAccount",
        ),
        (
            _changed("    serviceAccount: {namespace: team-a, name: deployer}", "    groups: [x]"),
            "needs a user or a serviceAccount",
        ),
        (
            _changed("    serviceAccount:", "    groups: [x]\n    serviceAccount:"),
            "a ServiceAccount has the groups",
        ),
        (_changed("name: deployer}", "name: 'a/b'}"), "is not a name of an object"),
    ],
)
def test_problems_say_where_and_what_to_do(text: str, message: str) -> None:
    found, problems = parse(text)

    assert found == {}
    assert any(message in problem for problem in problems), problems
    assert all(problem.startswith("0.yaml") for problem in problems)


@pytest.mark.parametrize(
    ("who", "message"),
    [
        ("user: robot, groups: ['system:masters']", "is kept for the cluster's own parts"),
        ("user: robot, groups: ['system:nodes']", "is kept for the cluster's own parts"),
        ("user: 'system:admin'", "is kept for the cluster's own parts"),
        ("user: robot, groups: ['system:serviceaccounts']", "is kept for the cluster's own parts"),
        ("user: robot, groups: [' system:masters']", "without a blank at either end"),
        ("user: robot, groups: ['']", "must not be empty"),
        ('user: "a\\r\\nX: b"', "must be printable"),
        ('user: robot, groups: ["a\\nb"]', "must be printable"),
    ],
)
def test_nobody_may_be_impersonated_who_is_the_cluster_itself(who: str, message: str) -> None:
    _, problems = parse(f"{SHORTEST}  impersonate: {{{who}}}\n")

    assert len(problems) == 1
    assert message in problems[0]
    assert "0.yaml:8: spec.impersonate." in problems[0]


def test_a_user_may_have_the_groups_that_everybody_has() -> None:
    found, problems = parse(
        f"{SHORTEST}  impersonate: {{user: robot, groups: ['system:authenticated', team-a]}}\n"
    )

    assert problems == []
    assert found["team-a"].impersonate == projects.Impersonation(
        "robot", ("system:authenticated", "team-a")
    )


@pytest.mark.parametrize(
    "key", ["credentials: {kubeconfig: [a]}", "secrets: {sops: {ageKeyFile: a}}"]
)
def test_files_of_the_server_are_never_named_by_a_repository(key: str) -> None:
    text = f"{SHORTEST}  {key}\n"

    beside, _ = parse(text)
    in_git, problems = parse(text, where=GIT)

    assert list(beside) == ["team-a"]
    assert in_git == {}
    assert "names files of the server, which a repository may not" in problems[0]
    assert "projects.files" in problems[0]


def test_credentials_are_seen_from_the_file() -> None:
    found, _ = parse(f"{SHORTEST}  credentials: {{kubeconfig: [keys/a.yaml, /b]}}\n")

    assert found["team-a"].credentials == projects.ProjectCredentials(
        ("/etc/volary/keys/a.yaml", "/b")
    )


def test_a_repository_that_is_not_in_the_settings_is_a_warning() -> None:
    text = SHORTEST.replace("repository: apps", "repository: apss")

    found, problems = parse(text)
    loaded = project_files.parse([project_files.TextFile("a", text)], SETTINGS)

    assert list(found) == ["team-a"]
    assert "no repository of the settings is called apss; hint: did you mean apps?" in problems[0]
    assert errors.mistakes(loaded.problems) == []


def test_receivers_that_are_not_known_are_not_missed() -> None:
    text = f"{SHORTEST}  routes: [{{name: all, receiver: nobody}}]\n"

    assert parse(text)[0] == {}
    assert list(parse(text, where=definitions.Surroundings())[0]) == ["team-a"]
