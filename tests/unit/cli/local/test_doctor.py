"""What `volary doctor` says of this machine."""

import pytest

from volary.cli import exit_codes
from volary.cli.local import doctor
from volary.isolation import launcher, probing


def test_it_names_programs_and_says_what_renderers_are_kept_from(
    capsys: pytest.CaptureFixture[str],
) -> None:
    here = probing.probe()

    code = doctor.run()

    said = capsys.readouterr().out.splitlines()
    assert code == (exit_codes.Exit.DONE if here.has_no_network else exit_codes.Exit.FAILED)
    assert [line.partition(":")[0].partition(",")[0] for line in said] == [
        "volary 0.1.0",
        "kubectl",
        "helm",
        "isolation",
    ]
    assert said[-1] == f"isolation: {here.sentence}"


def test_what_is_missing_comes_with_what_to_do() -> None:
    isolation = probing.Isolation(launcher.AS_USER, filter=True)

    lines = list(doctor.lines({"kubectl": "/usr/bin/kubectl"}, isolation))

    assert lines[1:3] == [
        "kubectl: /usr/bin/kubectl",
        "helm: not found; install helm 3 and have it on PATH; charts are rendered by it",
    ]
