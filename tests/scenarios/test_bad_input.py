"""Bad input ends in a clear error, and nothing has changed in any cluster."""

import copy
import re
import stat
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

import command_world
from kube_sandbox.apiserver.storage import verbs

APPLICATION, WORKLOAD = "app.pipecd.yaml", "deployment.yaml"
INPUT = "      service:\n        kind: Service"


@pytest.fixture
async def given(tmp_path: Path) -> AsyncIterator[command_world.World]:
    """Two clusters and the simple example, committed and deployed nowhere."""
    async with command_world.world(tmp_path, "us", "eu") as found:
        yield found


async def refused(given: command_world.World, *words: str, code: int = 2, **env: str) -> str:
    """Run; the run is refused without a traceback and without a write. Returns what it said."""
    before = await given.settled()

    ended = await given.run(*words, **env)

    assert ended.code == code, ended
    assert "Traceback" not in ended.err
    assert "error: " in ended.err
    assert given.versions() == before
    return ended.err


def place(given: command_world.World, target: str, body: dict[str, Any], manager: str) -> None:
    """Given: an object that somebody applied."""
    held = given.running.clusters[target].registry
    options = verbs.Options(manager=manager, agent="kubectl")
    held.apply(held.kind_of(body), "default", body["metadata"]["name"], body, options)


def manifest(given: command_world.World, file: str = WORKLOAD) -> dict[str, Any]:
    return copy.deepcopy(yaml.safe_load((given.directory / file).read_text()))


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        pytest.param(
            APPLICATION,
            "spec:",
            "spec: [\n",
            "app.pipecd.yaml:7: broken YAML: did not find expected ',' or ']'",
            id="broken application file",
        ),
        pytest.param(
            WORKLOAD,
            "spec:\n",
            "spec: {\n",
            "error: deployment.yaml:9: broken YAML",
            id="broken manifest",
        ),
        pytest.param(
            APPLICATION,
            "K8S_PRIMARY_ROLLOUT",
            "K8S_PRIMARY_ROLOUT",
            "app.pipecd.yaml:29: spec.pipeline.stages[3].name: unknown stage K8S_PRIMARY_ROLOUT\n"
            "  hint: did you mean K8S_PRIMARY_ROLLOUT?",
            id="unknown stage",
        ),
        pytest.param(
            APPLICATION,
            INPUT,
            "      input:\n        multiTargets:\n          - target: {name: uss}\n" + INPUT,
            "unknown target uss: the fleet has no such cluster\n  hint: did you mean us?",
            id="unknown target",
        ),
        pytest.param(
            APPLICATION,
            "          all: canary",
            "          all: canary\n          multiTargets: [uss]",
            "spec.pipeline.stages[2].with.multiTargets[0]: unknown target uss:"
            " the fleet has no such cluster\n  hint: did you mean us?",
            id="stage that matches no cluster",
        ),
        pytest.param(
            APPLICATION,
            "replicas: 1",
            "replicas: abc",
            "'abc' is neither a number of pods nor a percentage: write 2 or 10%",
            id="replicas abc",
        ),
        pytest.param(
            APPLICATION, "replicas: 1", "replicas: -1", "must not be negative", id="replicas -1"
        ),
        pytest.param(
            APPLICATION,
            "all: canary",
            "primary: 50\n          canary: 20",
            "weights must add up to 100, not 70 (primary=50, canary=20, baseline=0)",
            id="weights",
        ),
        pytest.param(
            WORKLOAD,
            "apiVersion",
            (command_world.EXAMPLES / "simple/config.yaml").read_text() + "---\napiVersion",
            "ConfigMap simple is described twice, first in config.yaml:1\n"
            "  hint: remove one of the two, or give it another name or namespace",
            id="two documents with one key",
        ),
        pytest.param(
            APPLICATION,
            INPUT,
            "      input:\n        manifests: [../other.yaml]\n" + INPUT,
            "../other.yaml leaves the repository",
            id="manifest outside the directory",
        ),
        pytest.param(
            WORKLOAD,
            "metadata:",
            "metadata: # " + "x" * (17 << 20) + "\n",
            "deployment.yaml: the file is too large: 17826",
            id="huge file",
        ),
        pytest.param(
            "config.yaml",
            "hello",
            "h" * (4 << 20),
            "config.yaml:1: ConfigMap default/simple on cluster us: Request entity too large",
            id="huge object",
        ),
        pytest.param(
            WORKLOAD,
            "metadata:\n",
            "metadata:\n  namespace: nowhere\n",
            "namespace nowhere does not exist on cluster eu\n"
            "  hint: create it, add it to the manifests, or set input.autoCreateNamespace",
            id="namespace missing",
        ),
        pytest.param(
            "config.yaml",
            "apiVersion: v1\nkind: ConfigMap",
            "apiVersion: example.com/v1\nkind: Widget",
            "cluster eu does not know the kind Widget (example.com/v1) of simple\n"
            "  hint: install the CustomResourceDefinition that defines it,"
            " or add it to the manifests",
            id="CRD missing",
        ),
    ],
)
async def test_a_source_that_cannot_be_deployed(
    given: command_world.World, file: str, old: str, new: str, said: str
) -> None:
    text = (given.directory / file).read_text()
    given.write({file: text.replace(old, new, 1)}, message="Break it")

    assert said in await refused(given)


async def test_more_canary_pods_than_primary_has_are_allowed_and_warned_of(
    given: command_world.World,
) -> None:
    """Decided: 150% is PipeCD's to allow, and sometimes meant; it is said, not refused."""
    given.edit(APPLICATION, "replicas: 1\n", "replicas: 150%\n")

    ended = await given.run("--dry-run")

    assert ended.code == 0, ended
    assert "replicas: 150% is more pods than primary has" in ended.err


async def test_an_empty_render(given: command_world.World) -> None:
    given.write(dict.fromkeys(("config.yaml", WORKLOAD, "service.yaml"), ""), message="Empty")

    said = await refused(given)

    assert "the application renders to no object at all" in said
    assert "hint: an empty rendering is refused, it would look like deleting everything" in said


async def test_a_kubeconfig_that_does_not_exist(given: command_world.World) -> None:
    edit_fleet(given, lambda eu: eu.update(kubeconfig="missing.kubeconfig"))

    said = await refused(given)

    assert re.search(r"error: cluster eu: kubeconfig \S*missing.kubeconfig does not exist\n", said)
    assert "hint: check KUBECONFIG, or the cluster's entry in the fleet file" in said


async def test_a_context_that_does_not_exist(given: command_world.World) -> None:
    edit_fleet(given, lambda eu: eu.update(context="europe"))

    said = await refused(given)

    assert "cluster eu: context europe does not exist in" in said
    assert "hint: its contexts are: eu" in said


async def test_a_certificate_that_does_not_exist(given: command_world.World) -> None:
    edit_user(given, {"client-certificate": "eu.pem", "client-key": "eu.key"})

    said = await refused(given)

    assert "cluster eu: client-certificate" in said
    assert "eu.pem cannot be read: no such file or directory" in said
    assert "hint: check the path in the kubeconfig" in said


async def test_a_credential_program_that_does_not_exist(given: command_world.World) -> None:
    program = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "company-login",
        "interactiveMode": "Never",
        "installHint": "install the company's login",
    }
    edit_user(given, {"exec": program})

    said = await refused(given)

    assert "cluster eu: the credential program company-login was not found" in said
    assert "hint: install the company's login" in said


async def test_credentials_that_are_not_accepted(given: command_world.World) -> None:
    edit_user(given, {"token": "expired"})

    said = await refused(given)

    assert "cluster eu" in said
    assert "Unauthorized" in said


async def test_a_cluster_that_cannot_be_reached_is_named_and_nothing_begins_elsewhere(
    given: command_world.World,
) -> None:
    given.running.clusters["eu"].faults.change({"lost": "refuse"})

    said = await refused(given, code=1)

    assert "cluster eu at http://127.0.0.1" in said
    assert "error: cluster us" not in said
    assert "--on-unreachable continue" in said
    assert said.endswith("nothing was changed in any cluster\n")


async def test_no_permission(given: command_world.World) -> None:
    given.running.clusters["eu"].faults.change({"denied": ["patch deployments"]})

    said = await refused(given)

    assert "deployment.yaml:1: Deployment default/simple on cluster eu: " in said
    assert 'cannot patch resource "deployments" in API group "apps"' in said
    assert "hint: give the user this permission by a Role and a RoleBinding" in said
    assert "cluster us" not in said


async def test_a_field_that_somebody_else_owns(given: command_world.World) -> None:
    theirs = manifest(given)
    theirs["spec"]["replicas"] = 7
    place(given, "eu", theirs, "autoscaler")

    said = await refused(given)

    assert "Deployment default/simple on cluster eu: autoscaler owns .spec.replicas" in said
    assert "`volary.dev/force-conflicts: enabled`" in said


async def test_a_field_that_cannot_be_changed(given: command_world.World) -> None:
    """Known before the canary begins, although only primary's rollout would meet it."""
    before = manifest(given)
    for labels in (
        before["spec"]["selector"]["matchLabels"],
        before["spec"]["template"]["metadata"]["labels"],
    ):
        labels["tier"] = "web"
    place(given, "eu", before, "volary")

    said = await refused(given, "--running", "HEAD", "--strategy", "pipeline")

    assert "Deployment default/simple on cluster eu: spec.selector cannot be changed" in said
    assert "hint: write the selector as it is on the cluster" in said
    assert "or annotate it `pipecd.dev/force-sync-by-replace: enabled`" in said


async def test_scripts_read_why_a_run_was_refused(given: command_world.World) -> None:
    given.edit(WORKLOAD, "metadata:\n", "metadata:\n  namespace: nowhere\n")

    ended = await given.run("--output", "json")

    assert ended.code == 2, ended
    assert [each["event"] for each in ended.events] == ["planned", "refused"]
    assert ended.events[-1]["problems"][0] == {
        "message": "namespace nowhere does not exist on cluster us",
        "where": "deployment.yaml:1",
        "hint": "create it, add it to the manifests, or set input.autoCreateNamespace",
    }


def edit_fleet(given: command_world.World, change: Callable[[dict[str, Any]], None]) -> None:
    body = yaml.safe_load(Path(given.fleet).read_text())
    change(body["clusters"][1])
    Path(given.fleet).write_text(yaml.safe_dump(body))


def edit_user(given: command_world.World, user: dict[str, Any]) -> None:
    path = given.running.clusters["eu"].kubeconfig_path
    body = yaml.safe_load(path.read_text())
    body["users"][0]["user"] = user
    path.write_text(yaml.safe_dump(body))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
