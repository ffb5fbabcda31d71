import re
import time

import pytest

from volary.config.text import expressions

BODY = {
    "metadata": {"name": "a", "managedFields": [{"manager": "x"}]},
    "spec": {"replicas": 3},
    "status": {"phase": "Ready", "conditions": [{"type": "Good", "status": "True"}]},
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("object.status.phase == 'Ready'", True),
        ("self.spec.replicas >= 4", False),
        ("self.status.conditions.exists(c, c.type == 'Good' && c.status == 'True')", True),
        ("string(object.spec.replicas) + ' of it'", "3 of it"),
        ("has(object.status.nothing)", False),
        ("object.status.phase.matches('^R')", True),
        ("type(object.spec.replicas) == int", True),
        ("object.status.phase == '.all(' || r'\\' == object.metadata.name", False),
        ("has(object.metadata.managedFields)", False),
    ],
)
def test_values(text: str, value: object) -> None:
    assert expressions.parse(text).evaluate(expressions.Subject(BODY)) == value


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("object.status.nothing == 1", "there is no nothing"),
        ("object.status.conditions[7].type", "index out of bounds: 7"),
        ("1 / 0", "division by zero"),
        ("object.status.phase + 1", "Unsupported operation: string + int"),
        ("int(object.status.phase)", "invalid digit"),
    ],
)
def test_what_has_no_value_says_why(text: str, reason: str) -> None:
    with pytest.raises(expressions.EvaluationError, match="^.*" + reason.replace("+", r"\+")):
        expressions.parse(text).evaluate(expressions.Subject(BODY))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("object.status.phase ==", "is not valid CEL: mismatched input the end at character 23"),
        ("", "is not valid CEL: mismatched input the end at character 1"),
        ("status.phase == 'x'", "status is not known; the object is called object"),
        ("object.name.split('/')", "the function split does not exist"),
        ("now() > 1", "the function now does not exist"),
        ("object.x" + " " * 2000, "is longer than 2000 characters"),
        (
            "self.l.all(a, self.l.map(b, self.l.filter(c, true)))",
            "has macros nested 3 deep, more than 2",
        ),
        ("(" * 400 + "1" + ")" * 400, "is not valid CEL: "),
    ],
)
def test_what_cannot_be_evaluated_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=re.escape(problem)) as caught:
        expressions.parse(text)
    assert str(caught.value).startswith(problem)


def test_texts_do_not_hide_macros() -> None:
    hidden = r"r'\' == 'x' || self.l.all(a, self.l.all(b, self.l.all(c, true))) || 'x' == 'y'"
    with pytest.raises(ValueError, match="nested 3 deep"):
        expressions.parse(hidden)


def test_long_lists_are_refused_before_they_cost_anything() -> None:
    nested = expressions.parse("object.l.all(a, object.l.all(b, a == b))")
    began = time.thread_time()
    with pytest.raises(expressions.EvaluationError, match="take too long"):
        nested.evaluate(expressions.Subject({"l": [1] * 2000}))
    assert time.thread_time() - began < 0.5
    assert nested.evaluate(expressions.Subject({"l": [1] * 100})) is True


@pytest.mark.parametrize(
    "text",
    [
        # What a macro binds may be used twice, so each of a chain can double it.
        "size(['abcdefgh']" + "".join(f".map(a{n}, a{n} + a{n})" for n in range(24)) + "[0]) > 1",
        "[[1]]" + "".join(f".map(a{n}, [a{n}, a{n}])" for n in range(18)) + " == 1",
        "object.l.map(a, object.l) == []",
        "object.l.map(a, object.l).map(b, b + b) == []",
        "object.l.filter(a, size(object.l) > 1) == []",
        "size(" + " + ".join(["object.text"] * 100) + ") > 1",
        "[object.text + object.text + object.text].exists(a, [a + a + a].exists(b, b != ''))",
    ],
)
def test_values_that_grow_are_refused_before_they_do(text: str) -> None:
    grown = expressions.parse(text)
    large = expressions.Subject({"l": list(range(700)), "text": "x" * 1_000_000})
    began = time.thread_time()
    with pytest.raises(expressions.EvaluationError, match="take too long"):
        grown.evaluate(large)
    assert time.thread_time() - began < 0.5


@pytest.mark.parametrize(
    "text",
    [
        "object.status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')",
        "object.status.conditions.filter(c, c.type == 'Ready').map(c, c.message)[0] == 'm'",
        "object.status.conditions.all(c, c.seen == object.metadata.generation)",
        "object.kind + ' ' + object.metadata.name + string(object.metadata.generation) != ''",
    ],
)
def test_what_controllers_write_is_evaluated(text: str) -> None:
    condition = {"type": "Ready", "status": "True", "message": "m", "seen": 3}
    body = {
        "kind": "Widget",
        "metadata": {"name": "w", "generation": 3, "labels": {f"l{n}": "v" for n in range(50)}},
        "spec": {f"field-{n}": {"deep": [1, 2, {"a": "b"}]} for n in range(200)},
        "status": {"conditions": [condition] * 30},
    }

    assert expressions.parse(text).evaluate(expressions.Subject(body)) is True


def test_numbers_beyond_any_controllers_do_not_harm() -> None:
    with pytest.raises(expressions.EvaluationError):
        expressions.parse("object.n + 1 > 0").evaluate(expressions.Subject({"n": 2**63 - 1}))
    assert (
        expressions.parse("object.m == 1").evaluate(expressions.Subject({"n": 2**70, "m": 1}))
        is True
    )
