"""Clusters that would change alike are one group, and what differs between groups is said."""

from volary.controller.preview import target_groups
from volary.manifests.diff import value_diff
from volary.model import json
from volary.model.objects import manifest

WEB = manifest.ResourceKey("apps", "Deployment", "shop", "web")


def body(replicas: int, **more: object) -> json.JsonObject:
    return {
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {"replicas": replicas, **more},
    }


def created(after: json.JsonObject) -> target_groups.ObjectSides:
    return target_groups.ObjectSides(WEB, "created", None, after)


def changed(**values: object) -> target_groups.ObjectSides:
    items = tuple(value_diff.Item(("spec", key), 0, value) for key, value in values.items())
    return target_groups.ObjectSides(WEB, "changed", body(1), body(2), items)


def sentence(*groups: tuple[list[str], list[target_groups.ObjectSides]]) -> str:
    return "; ".join(item.sentence for item in target_groups.variations(groups))


def test_a_diff_is_that_of_yaml() -> None:
    found = target_groups.diff(target_groups.ObjectSides(WEB, "changed", body(1), body(2)))

    assert found.text.splitlines() == [
        "--- before",
        "+++ after",
        "@@ -2,4 +2,4 @@",
        " metadata:",
        "   name: web",
        " spec:",
        "-  replicas: 1",
        "+  replicas: 2",
    ]
    assert (found.key, found.verb, found.omitted) == (WEB, "changed", 0)


def test_what_is_created_has_only_added_lines_and_what_goes_only_removed_ones() -> None:
    lines = target_groups.diff(created(body(1))).text.splitlines()[3:]
    pruned = target_groups.diff(target_groups.ObjectSides(WEB, "pruned", body(1)))
    unknown = target_groups.diff(target_groups.ObjectSides(WEB, "pruned"))

    whole = ["kind: Deployment", "metadata:", "  name: web", "spec:", "  replicas: 1"]
    assert lines == [f"+{line}" for line in whole]
    assert pruned.text.splitlines()[3:] == [f"-{line}" for line in whole]
    assert unknown.text == ""


def test_lines_and_objects_are_bounded_and_what_steers_terminals_is_replaced() -> None:
    long = body(
        1, words=[f"word {number}" for number in range(1000)], bell="a\x1b[2Jb" + "x" * 3000
    )
    found = target_groups.diff(created(long))
    group = target_groups.group(["us"], [created(body(1))] * 300)

    assert len(found.text.splitlines()) == 400
    # 1,007 lines that are added, and three above them.
    assert found.omitted == 1007 + 3 - 400
    assert "\x1b" not in found.text
    assert max(map(len, found.text.splitlines())) <= 1002
    assert (len(group.diffs), group.omitted) == (200, 100)


def test_nothing_differs_within_one_group() -> None:
    assert target_groups.variations([(["us", "eu"], [created(body(1))])]) == ()


def test_what_happens_only_on_some_is_said() -> None:
    assert sentence((["us", "eu"], [created(body(1))]), (["asia"], [])) == (
        "created on us and eu; unchanged on asia"
    )
    assert sentence((["us"], [created(body(1))]), (["eu"], [changed(replicas=3)])) == (
        "created on us; changed on eu"
    )


def test_what_is_created_otherwise_is_said_with_its_values() -> None:
    assert sentence((["us"], [created(body(3))]), (["eu", "asia"], [created(body(5))])) == (
        "spec.replicas: 3 on us, 5 on eu and asia"
    )
    assert sentence((["us"], [created(body(3))]), (["eu"], [created(body(3, paused=True))])) == (
        "spec.paused: nothing on us, true on eu"
    )


def test_what_is_changed_is_compared_by_what_changes() -> None:
    us, eu = changed(replicas=3, image="a"), changed(replicas=3, image="b", paused=True)

    assert sentence((["us"], [us]), (["eu"], [eu])) == (
        "spec.image: a on us, b on eu; spec.paused: as it is on us, true on eu"
    )
    assert sentence((["us"], [us]), (["eu"], [us])) == ""


def test_many_places_are_counted_and_long_values_cut() -> None:
    one = created(body(1, **{f"key{number}": 1 for number in range(8)}))
    other = created(body(1, **{f"key{number}": "x" * 100 for number in range(8)}))
    said = sentence((["us"], [one]), (["eu"], [other]))

    assert said.endswith("; and 3 further places")
    assert f"spec.key0: 1 on us, {'x' * 59}… on eu" in said


def test_groups_are_laid_side_by_side() -> None:
    us, eu = changed(replicas=3), changed(replicas=5, paused=True)
    (found,) = target_groups.variations(
        [(["us", "ca"], [us]), (["eu"], [eu]), (["asia"], []), (["africa"], [created(body(1))])]
    )

    assert found.places == ("spec.replicas", "spec.paused")
    assert [(side.targets[0], side.verb, side.values) for side in found.sides] == [
        ("us", "changed", ("3", "as it is")),
        ("eu", "changed", ("5", "true")),
        ("asia", "unchanged", ("", "")),
        ("africa", "created", ("", "")),
    ]
    assert found.sentence == (
        "changed on us and ca and eu; unchanged on asia; created on africa;"
        " spec.replicas: 3 on us and ca, 5 on eu; spec.paused: as it is on us and ca, true on eu"
    )


def test_sides_and_places_are_bounded_and_say_how_many_more_there_are() -> None:
    groups = [([f"c{n}"], [changed(**{f"key{k}": n for k in range(9)})]) for n in range(30)]
    (found,) = target_groups.variations(groups)

    assert (len(found.places), found.omitted_places) == (5, 4)
    assert (len(found.sides), found.omitted_sides) == (12, 18)
    assert {len(side.values) for side in found.sides} == {5}


def test_an_empty_text_is_a_value() -> None:
    assert sentence((["us"], [changed(name="")]), (["eu"], [changed(name="x")])) == (
        'spec.name: "" on us, x on eu'
    )
