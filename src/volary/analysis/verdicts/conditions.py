"""What the conditions of a rule say of an answer, with Argo Rollouts' meaning. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from volary.analysis.verdicts import clauses
from volary.config.text import expressions, result_conditions
from volary.model import analysis
from volary.model.analysis import Result

#: Values of an answer that are shown.
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Outcome:
    """What conditions say."""

    result: Result
    #: Without a full stop.
    sentence: str


def evaluate(rule: analysis.Rule, values: Sequence[float]) -> Outcome:
    """Ask the conditions of a rule, of which it has one at least, of the values of an answer.

    Raises:
        expressions.EvaluationError: One of them cannot be asked of it.
        ValueError: One of them is no condition.
    """
    answer = _shown(values)
    if rule.failure_condition and _holds("failureCondition", rule.failure_condition, values):
        return Outcome(Result.FAIL, f"failureCondition {rule.failure_condition} holds of {answer}")
    if not rule.success_condition:
        sentence = f"failureCondition {rule.failure_condition} does not hold of {answer}"
        return Outcome(Result.PASS, sentence)
    if _holds("successCondition", rule.success_condition, values):
        return Outcome(Result.PASS, f"successCondition {rule.success_condition} holds of {answer}")
    if rule.failure_condition:
        sentence = f"neither successCondition nor failureCondition holds of {answer}"
        return Outcome(Result.INCONCLUSIVE, sentence)
    sentence = f"successCondition {rule.success_condition} does not hold of {answer}"
    return Outcome(Result.FAIL, sentence)


def _holds(name: str, text: str, values: Sequence[float]) -> bool:
    try:
        return result_conditions.parse(text).holds(values)
    except expressions.EvaluationError as error:
        message = f"{name} cannot be asked of {_shown(values)}: {error}"
        raise expressions.EvaluationError(message) from error


def _shown(values: Sequence[float]) -> str:
    shown = ", ".join(clauses.number(value) for value in values[:_SHOWN])
    more = len(values) - _SHOWN
    return f"{shown} and {more} more" if more > 0 else shown
