"""Problems as people read them."""

from volary.model import errors


def test_a_hint_to_several_in_a_row_is_given_with_the_last_of_them() -> None:
    hints = ["annotate it", "annotate it", "wait", "", "", "annotate it"]
    problems = [errors.Problem(f"{number}", hint=hint) for number, hint in enumerate(hints)]

    once = errors.hints_once(problems)

    assert [problem.message for problem in once] == [problem.message for problem in problems]
    assert [problem.hint for problem in once] == ["", "annotate it", "wait", "", "", "annotate it"]
    assert errors.hints_once([]) == []
