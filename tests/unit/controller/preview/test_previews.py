"""What is shown of what clusters answered, of an application that no cluster has yet."""

from pathlib import Path

import reconciler_fixtures as given
from volary.clusters.apply import dry_runs
from volary.controller.planning import opened_applications, preflight, preparation
from volary.controller.preview import previews
from volary.manifests import redaction
from volary.model import errors, json
from volary.model.objects import apply_results, manifest

FILE = """\
apiVersion: pipecd.dev/v1beta1
kind: KubernetesApp
spec:
  name: shop
"""
CONFIG = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: words, namespace: shop}
"""
Action = apply_results.Action
PASSWORD = "correct horse"


def key(name: str, kind: str = "ConfigMap") -> manifest.ResourceKey:
    return manifest.ResourceKey("", kind, "shop", name)


def body(name: str, kind: str = "ConfigMap", **data: str) -> json.JsonObject:
    return {
        "apiVersion": "v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "shop"},
        "data": data,
    }


async def shown(tmp_path: Path, *trials: preflight.Trial) -> previews.Preview:
    (tmp_path / "app.pipecd.yaml").write_text(FILE)
    (tmp_path / "config.yaml").write_text(CONFIG)
    async with given.leading() as world:
        opened = await opened_applications.open_application(str(tmp_path))
        prepared = await preparation.prepare(
            preparation.RunOptions(str(tmp_path), running="none"),
            world.leader.dependencies.clusters,
            opened,
        )
    return previews.of(prepared, trials, redaction.Masker())


async def test_of_what_changes_is_shown_what_people_would_see(tmp_path: Path) -> None:
    many = {f"word{number:02}": "new" for number in range(52)}
    secret = body("login", "Secret", password="Y29ycmVjdCBob3JzZQ==")
    compared = (
        (apply_results.Change(key("same"), Action.UNCHANGED), {}, {}),
        (
            apply_results.Change(key("words"), Action.CONFIGURED),
            body("words"),
            body("words", **many),
        ),
        (apply_results.Change(key("owner"), Action.CONFIGURED), body("owner"), body("owner")),
        (
            apply_results.Change(key("told"), Action.CONFIGURED, f"it has {PASSWORD}"),
            body("told"),
            body("told"),
        ),
        (apply_results.Change(key("login", "Secret"), Action.CREATED), None, secret),
        (apply_results.Change(key("old"), Action.SKIPPED, "it is shared"), body("old"), None),
    )
    previewed = tuple(dry_runs.ObjectPreview(*sides) for sides in compared)
    unseen = apply_results.Change(key("unseen"), Action.CONFIGURED)
    changes = apply_results.ChangeSet((*(change for change, _, _ in compared), unseen))

    preview = await shown(tmp_path, preflight.Trial("us", changes, previewed=previewed))

    (us,) = preview.targets
    assert [(item.key.name, item.verb.value, item.reason) for item in us.objects] == [
        ("words", "changed", ""),
        ("told", "changed", f"it has {redaction.MASK}"),
        ("login", "created", ""),
        ("old", "kept", "it is shared"),
        ("unseen", "changed", ""),
    ]
    assert us.unchanged == 2, "who owns which field is nothing that people see"
    words = us.objects[0]
    assert (len(words.differences), words.omitted) == (previews.MOST_DIFFERENCES, 2)
    assert [item.omitted for item in us.objects[1:]] == [0] * 4
    assert (preview.application, preview.has_changes, preview.failed) == ("shop", True, False)
    assert [(stage.name, stage.targets) for stage in preview.stages] == [("K8S_SYNC", ("us", "eu"))]


async def test_nothing_would_be_written_where_a_part_is_refused(tmp_path: Path) -> None:
    changes = apply_results.ChangeSet((apply_results.Change(key("words"), Action.CREATED),))
    refused = preflight.Trial("us", changes, (errors.Problem("it is not allowed"),))
    away = preflight.Trial("eu", unreachable_reason="it is gone", warnings=("look again",))

    preview = await shown(tmp_path, refused, away)

    assert preview.targets == (
        previews.TargetPreview("us", problems=("it is not allowed",)),
        previews.TargetPreview("eu", unreachable_reason="it is gone", warnings=("look again",)),
    )
    assert (preview.has_changes, preview.failed) == (False, True)
