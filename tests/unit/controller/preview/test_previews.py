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


async def test_clusters_that_would_change_alike_are_shown_once(tmp_path: Path) -> None:
    def trial(target: str, word: str, address: str) -> preflight.Trial:
        """One that changes an object, which has an address of its own, and creates another."""
        change = apply_results.Change(key("words"), Action.CONFIGURED)
        new = apply_results.Change(key("more"), Action.CREATED)
        before = body("words", address=address, word="old")
        after = body("words", address=address, word="new")
        previewed = (
            dry_runs.ObjectPreview(change, before, after),
            dry_runs.ObjectPreview(new, None, body("more", word=word)),
        )
        return preflight.Trial(target, apply_results.ChangeSet((change, new)), previewed=previewed)

    away = [preflight.Trial(name, unreachable_reason=f"{name} is gone") for name in ("a", "b")]
    preview = await shown(
        tmp_path,
        trial("us", "one", "10.0.0.1"),
        trial("eu", "two", "10.0.0.2"),
        trial("asia", "one", "10.0.0.3"),
        *away,
    )

    assert [group.targets for group in preview.groups] == [("us", "asia"), ("eu",), ("a", "b")]
    changed, created = preview.groups[0].diffs
    assert "-  word: old\n+  word: new" in changed.text
    assert "+  word: one" in created.text
    # Neither the addresses, nor those of whom nobody knows anything.
    assert [(item.key.name, item.sentence) for item in preview.variations] == [
        ("more", "data.word: one on us and asia, two on eu")
    ]


async def test_secrets_are_masked_in_whole_objects_too(tmp_path: Path) -> None:
    change = apply_results.Change(key("login", "Secret"), Action.CONFIGURED)
    sides = [
        body("login", "Secret", password=value, user="YW5h")
        for value in ("Y29ycmVjdCBob3JzZQ==", "YmF0dGVyeSBzdGFwbGU=")
    ]
    told = apply_results.Change(key("words"), Action.CREATED)
    previewed = (
        dry_runs.ObjectPreview(change, sides[0], sides[1]),
        dry_runs.ObjectPreview(told, None, body("words", word=f"it is {PASSWORD}")),
    )
    preview = await shown(
        tmp_path,
        preflight.Trial("us", apply_results.ChangeSet((change, told)), previewed=previewed),
    )

    secret, words = (item.text for item in preview.groups[0].diffs)
    text = str(preview)
    assert "-  password: '*****'\n+  password: '***** (another value)'" in secret
    assert "   user: '*****'" in secret
    assert f"+  word: it is {redaction.MASK}" in words
    assert not [
        word for word in (PASSWORD, "Y29ycm", "YmF0dGVy", "battery", "YW5h") if word in text
    ]


async def test_what_goes_is_shown_as_it_is_now_without_its_secrets(tmp_path: Path) -> None:
    gone = apply_results.Change(key("login", "Secret"), Action.DELETED)
    live = body("login", "Secret", password="Y29ycmVjdCBob3JzZQ==", pin="MQ==")
    live["metadata"] |= {"resourceVersion": "7", "uid": "u-1"}
    trial = preflight.Trial(
        "us",
        apply_results.ChangeSet((gone,)),
        previewed=(dry_runs.ObjectPreview(gone, live, None),),
    )

    preview = await shown(tmp_path, trial)

    (diff,) = preview.groups[0].diffs
    assert diff.verb == "pruned"
    assert "-  password: '*****'\n-  pin: '*****'" in diff.text
    assert "u-1" not in diff.text
    assert preview.targets[0].warnings == ()
