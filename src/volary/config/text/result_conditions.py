"""Conditions on the answer to a query: expressions in CEL over `result`, as Argo Rollouts has them.

`result` is one number where the expression takes it for one (``result < 0.05``), and the list of
all values of the answer where it takes it for a list (``result[0] < 0.05``). Which one it is, and
whether the types fit at all, is found out when it is written, by trying it on made-up answers.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass

from volary.config.text import expressions

RESULT = "result"
_NAMES = frozenset({RESULT})
#: An expression may ask for one value of several; nobody writes more indexes than that.
_LENGTHS = (1, 2, 4, 16)
_NUMBERS = (0.0, 0.5, 1e6)


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition that can be asked of an answer."""

    expression: expressions.Expression
    #: It takes `result` for one number.
    is_of_one: bool

    def holds(self, values: Sequence[float]) -> bool:
        """Say whether it holds of the values of an answer.

        Raises:
            expressions.EvaluationError: That cannot be said.
        """
        if self.is_of_one and len(values) != 1:
            raise expressions.EvaluationError(
                f"result is {len(values)} values and taken for one: "
                "write result[0] or result.all(…)"
            )
        result = values[0] if self.is_of_one else list(values)
        value = self.expression.evaluate(expressions.Subject(result))
        if not isinstance(value, bool):
            raise expressions.EvaluationError(f"it is {value!r}, neither true nor false")
        return value


@functools.lru_cache(maxsize=512)
def parse(text: str) -> Condition:
    """Return the condition.

    Raises:
        ValueError: It is none; says why for the person who wrote it.
    """
    expression = expressions.parse(text, _NAMES)
    if not expression.names:
        raise ValueError("does not ask for result: it says the same of every answer")
    of_one = Condition(expression, is_of_one=True)
    if not any(_problem(of_one, (number,)) for number in _NUMBERS):
        return of_one
    of_many = Condition(expression, is_of_one=False)
    answers = [tuple(_NUMBERS[at % 3] for at in range(length)) for length in _LENGTHS]
    problems = [_problem(of_many, values) for values in answers]
    if all(problems):
        raise ValueError(f"cannot be asked of an answer: {problems[-1]}")
    return of_many


def _problem(condition: Condition, values: Sequence[float]) -> str:
    """Return why a condition cannot be asked of these values; empty: it can."""
    try:
        condition.holds(values)
    except expressions.EvaluationError as error:
        return str(error)
    return ""
