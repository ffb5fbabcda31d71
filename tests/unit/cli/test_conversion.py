"""``volary convert flagger``: which file is meant, and what is printed where."""

from pathlib import Path

import pytest

from volary.cli import conversion
from volary.config.application import application_files
from volary.model import errors

CANARY = """\
apiVersion: flagger.app/v1beta1
kind: Canary
metadata: {name: shop}
spec:
  provider: istio
  suspend: true
  targetRef: {kind: Deployment, name: shop}
  service: {port: 80}
  analysis:
    stepWeight: 50
    metrics: [{name: lost, templateRef: {name: lost}, thresholdRange: {max: 1}}]
    alerts: [{name: team, severity: info, providerRef: {name: team}}]
"""
OTHERS = """\
apiVersion: flagger.app/v1beta1
kind: MetricTemplate
metadata: {name: lost}
spec: {provider: {type: prometheus, address: "http://prometheus:9090"}, query: lost_total}
---
apiVersion: flagger.app/v1beta1
kind: AlertProvider
metadata: {name: team}
spec: {type: slack}
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "our.yaml").write_text(CANARY)
    (tmp_path / "others.yaml").write_text(OTHERS)
    return tmp_path


@pytest.mark.parametrize("name", ["", "our.yaml"])
def test_the_file_is_on_stdout_and_what_differs_in_both(
    place: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert conversion.flagger(str(place / name)) == 0

    out, err = capsys.readouterr()
    loaded = application_files.parse(out, file="volary.yaml", default_name="x")
    assert loaded.application is not None
    assert loaded.application.name == "shop"
    assert "# - our.yaml:6: spec.suspend: the server starts no run" in out
    assert "warning: our.yaml:6: spec.suspend: the server starts no run" in err
    assert "save it as volary.yaml" in err
    settings = [line for line in out.splitlines() if line.startswith("#")]
    assert "#     type: prometheus" in settings
    assert "#       address: http://prometheus:9090" in settings
    assert "#         hookURLFile: team.hook-url" in settings


@pytest.mark.parametrize(
    ("more", "path", "message"),
    [
        ({}, "nowhere", "does not exist"),
        ({}, "others.yaml", "there is no Canary in"),
        ({"two.yaml": CANARY}, "", "our.yaml, two.yaml have Canaries"),
        ({"two.yaml": CANARY}, "our.yaml", "2 Canaries in one directory"),
        ({"our.yaml": ""}, "", "no file in .* has a Canary"),
        ({"our.yaml": CANARY.replace("Deployment", "DaemonSet")}, "", "one pod per node"),
    ],
)
def test_what_cannot_be_converted(
    place: Path, more: dict[str, str], path: str, message: str
) -> None:
    for name, text in more.items():
        (place / name).write_text(text)

    with pytest.raises(errors.UserError, match=message):
        conversion.flagger(str(place / path))
