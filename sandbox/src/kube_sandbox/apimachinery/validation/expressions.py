"""Expressions in CEL that may ask by any names, as those of admission policies do."""

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING

from kube_sandbox.apimachinery.validation import rule_functions, rule_syntax

if TYPE_CHECKING:
    import cel


class ExpressionError(Exception):
    """The expression cannot be read, or has no value here; says why in half a sentence."""


def evaluate(text: str, variables: Mapping[str, object]) -> object:
    """Return the value of an expression.

    Raises:
        ExpressionError: It cannot be read, or has no value for these variables.
    """
    import cel  # see `_program`

    program = _program(text)
    names = program.variables()
    known = {name: value for name, value in variables.items() if name in names}
    try:
        return program.execute(
            cel.Context(variables=known, functions=dict(rule_functions.FUNCTIONS))
        )
    except KeyError as problem:
        raise ExpressionError(f"no such key: {problem.args[0]}") from problem
    except (TypeError, ValueError, RuntimeError, LookupError, ArithmeticError) as problem:
        raise ExpressionError(str(problem)) from problem


@functools.lru_cache(maxsize=512)
def _program(text: str) -> "cel.Program":
    import cel  # brings a command line of its own along, which takes a while to import

    try:
        return cel.compile(rule_syntax.rewritten(text))
    except ValueError as problem:
        raise ExpressionError(f"is not valid CEL: {problem}") from problem
