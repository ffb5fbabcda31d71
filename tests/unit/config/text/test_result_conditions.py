"""Conditions in CEL over the answer to a query."""

import math
import subprocess
import sys
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volary.config.text import expressions, result_conditions


@pytest.mark.parametrize(
    ("text", "values", "holds"),
    [
        ("result < 0.05", [0.01], True),
        ("result == 0.0", [0.0], True),
        ("result in [0.0, 1.0]", [0.5], False),
        ("result[0] < 1", [0.01], True),
        ("result[1] < 1.0", [9, 0.5], True),
        ("size(result) == 2 && result[1] > result[0]", [1, 2], True),
        ("result.all(each, each < 3.0)", [1, 2, 3], False),
        ("result.exists(each, each > 1e9)", [1, math.inf], True),
    ],
)
def test_result_is_one_number_or_a_list_as_it_is_taken_for(
    text: str, values: Sequence[float], holds: bool
) -> None:
    assert result_conditions.parse(text).holds([float(value) for value in values]) is holds


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("result[0] <", "is not valid CEL: mismatched input the end"),
        ("results < 1.0", "results is not known; only result is"),
        ("object.x < 1.0", "object is not known; only result is"),
        ("len(result) > 0", "the function len does not exist"),
        ("1 < 2", "does not ask for result"),
        ("result", "cannot be asked of an answer: it is .*, neither true nor false"),
        ("result[0] * 100 < 5.0", "cannot be asked of an answer: Unsupported operation: float"),
        ("result[0] > 'much'", "cannot be asked of an answer: No such overload"),
        ("result[16] > 1.0", "cannot be asked of an answer: index out of bounds: 16"),
        ("result.all(a, result.all(b, result.all(c, c > a)))", "has macros nested 3 deep"),
    ],
)
def test_what_could_never_be_asked_is_said_when_it_is_written(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        result_conditions.parse(text)


@pytest.mark.parametrize(
    ("text", "values", "problem"),
    [
        ("result < 1.0", [1.0, 2.0], "result is 2 values and taken for one: write result"),
        ("result[1] < 1.0", [1.0], "index out of bounds: 1"),
        (
            "result.all(a, result.exists(b, b > a))",
            [1.0] * 2_000,
            "it would take too long",
        ),
    ],
)
def test_what_cannot_be_asked_of_an_answer_says_why(
    text: str, values: Sequence[float], problem: str
) -> None:
    with pytest.raises(expressions.EvaluationError, match=problem):
        result_conditions.parse(text).holds(values)


numbers = st.floats(allow_nan=False)


@given(st.lists(numbers, min_size=1, max_size=9), st.floats(-1e6, 1e6))
def test_a_condition_of_all_is_one_of_each(values: list[float], bound: float) -> None:
    of_one = result_conditions.parse(f"result < {bound:f}")
    of_all = result_conditions.parse(f"result.all(each, each < {bound:f})")

    assert of_all.holds(values) == all(of_one.holds([value]) for value in values)


def test_a_file_without_conditions_does_not_load_the_library() -> None:
    """It takes a quarter of a second; other tests of this process may have loaded it."""
    code = (
        "import sys; from volary.analysis.verdicts import rule_verdicts; "
        "from volary.config.stages import analysis_rules; sys.exit('cel' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
