"""``volary convert`` for Karmada's policies and others' rollouts: what is printed where."""

from pathlib import Path

import pytest

from volary.cli import conversion
from volary.config.application import application_files
from volary.model import errors

ROOT = Path(__file__).parents[3]


def test_the_example_of_karmada(capsys: pytest.CaptureFixture[str]) -> None:
    assert conversion.karmada(str(ROOT / "examples/karmada")) == 0

    out, err = capsys.readouterr()
    found = application_files.parse(out, file="volary.yaml", default_name="x").require()
    assert found.name == "karmada"
    assert found.targets.match_labels == {"env": "prod"}
    assert "save it as volary.yaml beside them" in err


def test_policies_beside_a_file_of_ours(capsys: pytest.CaptureFixture[str]) -> None:
    assert conversion.karmada(str(ROOT / "tests/cases/karmada/beside_our_file")) == 0

    out, err = capsys.readouterr()
    found = application_files.parse(out, file="volary.yaml", default_name="x").require()
    assert found.targets.names == ("us", "eu")
    assert "put its spec into volary.yaml" in err


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("nowhere", "is no directory"),
        ("examples/simple", "no policy of Karmada's"),
        ("tests/cases/karmada/refused/suspended", "is suspended"),
    ],
)
def test_what_cannot_be_converted_of_karmada(path: str, message: str) -> None:
    with pytest.raises(errors.UserError, match=message):
        conversion.karmada(str(ROOT / path))


def test_waves_are_on_stdout_and_what_differs_in_both(capsys: pytest.CaptureFixture[str]) -> None:
    file = ROOT / "tests/cases/rollouts/kubefleet/stages.yaml"

    assert conversion.rollout("kubefleet", str(file), ["ana"]) == 0

    out, err = capsys.readouterr()
    found = application_files.parse(out, file="volary.yaml", default_name="x").require()
    assert [each.name for each in found.waves.waves] == ["before-canary", "canary", "prod"]
    assert "# - stages.yaml:12: spec.stages[1].sortingLabelKey: a cluster without" in out
    assert "warning: stages.yaml:12" in err


def test_a_file_that_is_none() -> None:
    with pytest.raises(errors.UserError, match="is no file"):
        conversion.rollout("ocm", "nowhere.yaml", [])
