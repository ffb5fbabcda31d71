"""Flagger's files: what they become, what differs, what is refused.

Each folder of tests/cases/flagger is an application's directory. `VOLARY_UPDATE_CASES=1` writes
what is found; read the difference before committing it.
"""

import dataclasses
import os
from pathlib import Path

import pytest

from volary.config import application, lint, yaml
from volary.config.dialects.flagger import conversion, translation
from volary.manifests import render_text
from volary.model import application as applications
from volary.model import problem

CASES = Path(__file__).parents[2] / "cases/flagger"
REFUSED = CASES / "refused"


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir() if each.name != "refused")


def read(folder: Path) -> dict[str, str]:
    return {each.name: each.read_text() for each in sorted(folder.glob("*.yaml"))}


def loaded(files: dict[str, str]) -> application.Loaded:
    beside = {name: text for name, text in files.items() if name != "canary.yaml"}
    return application.parse(
        files["canary.yaml"], file="canary.yaml", default_name="unused", neighbours=beside
    )


def converted(files: dict[str, str]) -> conversion.Converted:
    beside = {name: text for name, text in files.items() if name != "canary.yaml"}
    made = translation.translate(
        yaml.load_all(files["canary.yaml"], "canary.yaml"), application.readable(beside)
    )
    return conversion.convert(made, loaded(files).problems)


def expect(file: Path, found: str) -> None:
    if os.environ.get("VOLARY_UPDATE_CASES"):
        file.write_text(found)
    assert found == file.read_text()


def shown(problems: tuple[problem.Problem, ...]) -> str:
    return "".join(f"{each.severity.value} {each}\n" for each in problems)


@pytest.mark.parametrize("case", names(CASES))
def test_a_canary_becomes_a_file_of_ours_and_says_what_differs(case: str) -> None:
    files = read(CASES / case)

    found = loaded(files)

    expect(CASES / case / "problems.txt", shown(found.problems))
    assert found.application is not None
    text = render_text.dump_body(converted(files).body)
    expect(CASES / case / "volary.yaml.expected", text)


@pytest.mark.parametrize("case", names(CASES))
def test_the_converted_file_says_the_same_and_lints_clean(case: str) -> None:
    files = read(CASES / case)
    text = render_text.dump_body(converted(files).body)

    again = application.parse(text, file="volary.yaml", default_name="unused")

    wrong = [each for each in again.problems if each.severity is problem.Severity.ERROR]
    assert wrong == []
    expected = loaded(files).application
    assert expected is not None
    assert again.application == dataclasses.replace(expected, dialect=applications.Dialect.VOLARY)
    others = {f"apps/{name}": each for name, each in files.items() if name != "canary.yaml"}
    linted = lint.check({"apps/volary.yaml": text, **others})
    assert not [each for each in linted if each.severity is problem.Severity.ERROR]


@pytest.mark.parametrize("case", names(REFUSED))
def test_what_cannot_be_carried_over_is_refused_with_its_place(case: str) -> None:
    files = read(REFUSED / case)

    found = loaded(files)

    expect(REFUSED / case / "problems.txt", shown(found.problems))
    assert found.application is None
    assert all(each.where.file and each.where.line for each in found.problems)
