import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volary.config.text import yaml
from volary.model import errors

#: What kubectl makes of plain scalars, by their text.
SCALARS = {
    "yes": True, "Yes": True, "on": True, "y": True, "Y": True, "TRUE": True,
    "no": False, "n": False, "N": False, "off": False, "False": False,
    "~": None, "null": None, "NULL": None, "": None,
    "tRUE": "tRUE", "nUll": "nUll",
    "0644": 420, "0o644": 420, "+0644": 420, "-0644": -420, "0x1F": 31, "0X1f": 31,
    "0b101": 5, "-0b1": -1, "0B1": 1, "08": 8, "0o8": "0o8", "0b2": "0b2", "0x": "0x",
    "+12": 12, "-12": -12, "1_000": 1000, "0_7": 7, "1_": 1, "_1": "_1", "0x_1": 1,
    "1e3": 1000, "1E3": 1000, "1.5e3": 1500, "1e+3": 1000, "1e-3": 0.001, "1.0": 1, "1.": 1,
    ".5": 0.5, "-.5": -0.5, "+.5": 0.5, "._5": "._5", ".5_0": 0.5, "1e": "1e", "1e3.5": "1e3.5",
    "1e400": "1e400", "5e-324": 5e-324, "1e21": 1e21, "1e20": 1e20, "-0.0": 0,
    "12345678901234567890": 12345678901234567890.0, "9223372036854775807": 9223372036854775807,
    "-9223372036854775809": -9223372036854775809.0, "9007199254740993": 9007199254740993,
    "1:30": "1:30", "190:20:30": "190:20:30", "2001-12-14": "2001-12-14",
    "2001-12-14T21:59:43Z": "2001-12-14T21:59:43Z", "1.2.3": "1.2.3", "123abc": "123abc",
    "=": "=", "'no'": "no", '"1"': "1",
    "!!str 1": "1", "!!str on": "on", '!!int "3"': 3, "!!float 1": 1, "!!bool yes": True,
    "!!binary aGVsbG8=": "hello", "!foo 1": "1", "! 12": "12",
}  # fmt: skip

#: What kubectl makes of keys.
KEYS = {
    "y": "true", "on": "true", "false": "false", "1": "1", "1.5": "1.5", "1.0": "1", "0644": "420",
    "1e3": "1000", "2001-12-14": "2001-12-14", "1:30": "1:30", "1e400": "1e400", "1e21": "1e+21",
    "1000000.0": "1e+06", "1234567.5": "1.2345675e+06", "0.00001": "1e-05", "-5": "-5",
    "3.14159265358979": "3.1415927", "16777217.0": "1.6777216e+07", "!!binary aGk=": "hi",
}  # fmt: skip


@pytest.mark.parametrize("text", SCALARS)
def test_scalars_are_what_kubectl_makes_of_them(text: str) -> None:
    value = yaml.load_all(f"key: {text}\n")[0].value["key"]

    assert (type(value), value) == (type(SCALARS[text]), SCALARS[text])


@pytest.mark.parametrize("digits", ["1" * 5_000, "0x" + "f" * 5_000, "0b" + "1" * 5_000])
def test_numbers_of_very_many_digits_are_text(digits: str) -> None:
    assert yaml.load_all(f"key: {digits}")[0].value == {"key": digits}
    assert yaml.load_all(f"key: {digits[:2]}{'0' * 5_000}1")[0].value["key"] is not None


@pytest.mark.parametrize("text", KEYS)
def test_keys_become_text_as_in_kubectl(text: str) -> None:
    assert yaml.load_all(f"{text}: x\n")[0].value == {KEYS[text]: "x"}


def test_kubectl_agrees_with_the_tables() -> None:
    """One call of the real program with every scalar and key."""
    kubectl = Path(sys.prefix, "bin", "kubectl")
    program = str(kubectl) if kubectl.exists() else shutil.which("kubectl")
    if program is None:
        pytest.skip("kubectl is not installed")
    scalars = "".join(f"  k{i}: {text}\n" for i, text in enumerate(SCALARS))
    keys = "".join(f"  k{i}: {{{text} : x}}\n" for i, text in enumerate(KEYS))
    text = f"apiVersion: x/v1\nkind: X\nmetadata: {{name: x}}\nscalars:\n{scalars}keys:\n{keys}"
    done = subprocess.run(
        [program, "label", "--local", "-f", "-", "-o", "json", "a=b"],
        input=text, capture_output=True, text=True, check=True, env={}, timeout=30,
    )  # fmt: skip
    answer = json.loads(done.stdout, parse_int=_as_go)

    assert list(answer["scalars"].values()) == [SCALARS[k] for k in _in_go_order(SCALARS)]
    assert answer["keys"] == yaml.load_all(text)[0].value["keys"]


def _as_go(text: str) -> int | float:
    return int(text) if -(2**63) <= int(text) < 2**63 else float(text)


def _in_go_order(table: dict[str, object]) -> list[str]:
    """Go sorts keys as text: k0, k1, k10, k11, ..."""
    names = list(table)
    return [names[i] for i in sorted(range(len(names)), key=lambda i: f"k{i}")]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("base: &b {x: 1}\nd:\n  <<: *b\n  y2: 2\n", {"x": 1, "y2": 2}),
        ("base: &b {x: 1}\nd:\n  <<: *b\n  x: 2\n", {"x": 2}),
        ("base: &b {x: 1}\nd:\n  x: 5\n  <<: *b\n", {"x": 1}),
        ("a: &b {x: 1}\nc: &c {x: 2, z: 3}\nd:\n  <<: [*b, *c]\n", {"x": 1, "z": 3}),
        ('d: {"<<": {a: 1}}\n', {"<<": {"a": 1}}),
    ],
)
def test_merge_keys_merge_as_in_kubectl(text: str, value: object) -> None:
    assert yaml.load_all(text)[0].value["d"] == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: 2\na: 3\n", "f:3: duplicate key 'a', first written in line 1 (column 1)"),
        ("on: 1\nyes: 2\n", "f:2: duplicate key 'true', first written in line 1 (column 1)"),
        ("a:\n\t- b\n", "f:2: broken YAML: found character that cannot start any token (column 1)"),
        ("a: b: c\n", "f:1: broken YAML: mapping values are not allowed in this context"),
        ("null: a\n", "f:1: a key must not be null (column 1)"),
        ("12345678901234567890: a\n", "is too large for a key; put it in quotes (column 1)"),
        ("? [a]\n: b\n", "f:1: a key must be text, not a list or an object (column 3)"),
        ("a: .inf\n", "f:1: .inf is not a number JSON knows"),
        ("a: !!int x\n", "f:1: 'x' is not a !!int (column 4)"),
        ("a: !!binary x\n", "f:1: !!binary is not valid base64 (column 4)"),
        ("a: &a [*a]\n", "f:1: the anchor 'a' contains itself (column 8)"),
        ("a: *b\n", "f:1: an alias of an anchor that is not above it (column 4)"),
        ("a: {<<: 3}\n", "f:1: << takes an object or a list of objects (column 9)"),
        ("a: 1\n--- b: 2\n", "f:2: text after a document separator: --- b: 2"),
        ("a: 1\n...\nb: 2\n", "f:3: broken YAML: did not find expected <document start>"),
        ("%YAML 1.1\n---\na: 1\n", "hint: remove the line that starts with %"),
        ("a: \x01\n", "f:1: a character that YAML does not allow"),
        ("a: \ud800\n", "f:1: a character that is not valid Unicode"),
        ("[" * 100_000, "f:1: nested more than 200 levels deep"),
        ("x" * 17_000_000, "f: the file is too large"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_place(text: str, message: str) -> None:
    with pytest.raises(errors.UserError) as caught:
        yaml.load_all(text, "f")

    assert message in str(caught.value)


def test_aliases_cannot_multiply_without_bound() -> None:
    lines = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 9)]

    with pytest.raises(errors.UserError, match="aliases make this document too large"):
        yaml.load_all("\n".join(lines))


def test_one_broken_document_does_not_hide_the_others() -> None:
    with pytest.raises(errors.UserError) as caught:
        yaml.load_all("a: 1\n---\nb: [\n---\nc: 3\nc: 4\n", "f")

    assert [each.where.line for each in caught.value.problems] == [4, 6]


def test_documents_are_cut_where_kubectl_cuts_them() -> None:
    text = "\ufeff# nothing\n---\na: 1\n--- # second\nb: |\n  ---\n---\n---\nnull\n---\nc: 3\n"

    found = [(each.value, each.line) for each in yaml.load_all(text)]

    assert found == [({"a": 1}, 3), ({"b": "---\n"}, 5), ({"c": 3}, 11)]


def test_json_is_read_too() -> None:
    text = '{\n\t"a": "\\ud83d\\ude00", "b": 1.0, "c": {"d": [1e3]}}'

    assert yaml.load_all(text)[0].value == {"a": "😀", "b": 1, "c": {"d": [1000]}}


def test_every_value_knows_its_line() -> None:
    spec = "spec:\n  stages:\n    - name: x\n      with: {a: 1}\n    - name: y\n  b.c/d: 1\n"
    text = f"a: 1\n---\n{spec}"
    document = yaml.load_all(text, "f.yaml")[1]

    places = {
        (): "f.yaml:3",
        ("spec",): "f.yaml:3: spec",
        ("spec", "stages", 0, "with", "a"): "f.yaml:6: spec.stages[0].with.a",
        ("spec", "stages", 1, "name"): "f.yaml:7: spec.stages[1].name",
        ("spec", "b.c/d"): 'f.yaml:8: spec["b.c/d"]',
        ("spec", "stages", 1, "missing"): "f.yaml:7: spec.stages[1].missing",
    }
    assert {path: str(document.where(path)) for path in places} == places


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=8), _JSON, min_size=1, max_size=5))
def test_any_json_object_reads_back(value: dict[str, object]) -> None:
    assert yaml.load_all(json.dumps(value))[0].value == value
