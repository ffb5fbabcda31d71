import pytest
from hypothesis import given
from hypothesis import strategies as st

from volary.config.text import yaml
from volary.manifests.loading import serialization, yaml_edits

names = st.sampled_from(["a", "b", "c.d"])
trees = st.recursive(
    st.integers(0, 9) | st.sampled_from(["plain", "on", "two\nlines\n", ""]),
    lambda below: (
        st.lists(below, min_size=1, max_size=3)
        | st.dictionaries(names, below, min_size=1, max_size=3)
    ),
)


def leaves(value: object, path: str = "$") -> list[str]:
    if isinstance(value, dict):
        return [leaf for key in value for leaf in leaves(value[key], f"{path}.'{key}'")]
    if isinstance(value, list):
        return [leaf for n, each in enumerate(value) for leaf in leaves(each, f"{path}[{n}]")]
    return [path]


@given(st.dictionaries(names, trees, min_size=1, max_size=3), st.data())
def test_one_value_changes_and_all_others_stay(
    tree: dict[str, object], data: st.DataObject
) -> None:
    """Whatever stands around it, in whatever style."""
    path = data.draw(st.sampled_from(leaves(tree)))
    text = yaml_edits.replace(serialization.dump_value(tree), path, "77")
    found = yaml.load_all(text)[0].value

    steps = [int(each) if each.isdigit() else each.strip("'") for each in split(path)]
    assert str(at(found, steps)) == "77"
    put(tree, steps, at(found, steps))
    assert found == tree


def split(path: str) -> list[str]:
    return [
        str(step.position) if isinstance(step, yaml_edits.Index) else step.name
        for step in yaml_edits.parse_path(path)
    ]


def at(value: object, steps: list[object]) -> object:
    for step in steps:
        value = value[step]  # type: ignore[index]
    return value


def put(value: object, steps: list[object], new: object) -> None:
    at(value, steps[:-1])[steps[-1]] = new  # type: ignore[index]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("", "no path given"),
        ("a.b", "starts with"),
        ("$a", "expected . or"),
        ("$.", "expected a name"),
        ("$.'a", "not closed"),
        ("$[x]", "expected a number"),
        ("$[1", "expected a number"),
        ("$['a'.b", "expected ]"),
    ],
)
def test_paths_that_cannot_be_read_say_why(path: str, message: str) -> None:
    with pytest.raises(yaml_edits.EditError, match=message):
        yaml_edits.parse_path(path)


def test_paths_have_quotes_in_two_places() -> None:
    assert yaml_edits.parse_path("$.data.'a.b'['c d'][0]") == (
        yaml_edits.Child("data"),
        yaml_edits.Child("a.b"),
        yaml_edits.Child("c d"),
        yaml_edits.Index(0),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: \x07", "a character that YAML does not allow"),
        ("[" * 5000, "nested too deeply"),
        ("", "the document is empty"),
        ("a: [", "expected"),
        ("a: 1\n---\nb: 2", "another document"),
        ("#" * (yaml_edits.MAXIMUM_CHARACTERS + 1), "too long"),
    ],
)
def test_a_document_that_cannot_be_edited(text: str, message: str) -> None:
    with pytest.raises(yaml_edits.EditError, match=message):
        yaml_edits.compose(text)


@pytest.mark.parametrize(
    ("value", "expected"),
    [("word", True), ("'1'", True), ("1", False), ("true", False), ("[a]", False), ("{}", False)],
)
def test_what_is_a_text(value: str, expected: bool) -> None:
    (node,) = yaml_edits.find(f"a: {value}", "$.a")

    assert yaml_edits.is_text(node) is expected


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("", "no path given"),
        ("a", "starts with"),
        ("$a", "expected . or \\[ at character 2"),
        ("$.", "expected a name at character 3"),
        ("$.'a", "the quote at character 3 is not closed"),
        ("$['a'", "expected ] at character 6"),
        ("$['a", "the quote at character 3 is not closed"),
        ("$[x]", "expected a number in brackets at character 2"),
        ("$[1", "expected a number in brackets at character 2"),
        ("$[²]", "expected a number in brackets at character 2"),
        ("$.b", "there is no such value"),
        ("$.a[2]", "there is no such value"),
    ],
)
def test_a_path_that_leads_nowhere(path: str, message: str) -> None:
    with pytest.raises(yaml_edits.EditError, match=message):
        yaml_edits.find("a: [x, y]\n'': z", path)


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("$.a[0]", ["x"]),
        ("$.a[1]", ["y"]),
        ("$.a[*]", ["x", "y"]),
        ("$['a'][0]", ["x"]),
        ("$.''", ["z"]),
        ("$..c", ["1", "2"]),
        ("$.'b'.c", ["1"]),
    ],
)
def test_a_path_that_leads_somewhere(path: str, values: list[str]) -> None:
    nodes = yaml_edits.find("a: [x, y]\nb: {c: 1}\nd: [{c: 2}]\n'': z", path)

    assert [node.value for node in nodes] == values
