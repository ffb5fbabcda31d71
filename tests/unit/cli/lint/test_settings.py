"""`volary lint --config` knows whom a server would ask, and which clusters it has."""

from pathlib import Path

import pytest

from volary.cli import exit_codes
from volary.cli.lint import linting

APPLICATION = """\
apiVersion: volary.dev/v1
kind: Application
metadata: {name: shop}
spec:
  targets: {names: [%s]}
  pipeline:
    stages:
    - name: ANALYSIS
      with:
        duration: 5m
        metrics:
        - {name: errors, provider: own, query: POST /search, interval: 1m, expected: {max: 1}}
"""
SETTINGS = """\
apiVersion: volary.dev/v1
kind: Controller
fleet: members.yaml
repositories: [{name: shop, url: "https://git.example/shop.git"}]
analysisProviders: [{name: own, type: http, config: {address: "https://own"%s}}]
"""
FLEET = "apiVersion: volary.dev/v1\nkind: Fleet\nclusters: [{name: us}]\n"


def lint(base: Path, *, provider: str = "", cluster: str = "us") -> int:
    (base / "shop").mkdir()
    (base / "shop/volary.yaml").write_text(APPLICATION % cluster)
    (base / "settings.yaml").write_text(SETTINGS % provider)
    (base / "members.yaml").write_text(FLEET)
    return linting.run(
        str(base / "shop"),
        fleet="",
        contexts="",
        config=str(base / "settings.yaml"),
        as_json=False,
    )


def test_what_the_settings_do_not_allow_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lint(tmp_path) == exit_codes.Exit.USAGE

    told = capsys.readouterr().out
    assert "volary.yaml:12: " in told
    assert "own is not asked: only GET without a body is allowed" in told


def test_what_the_settings_allow_is_fine(tmp_path: Path) -> None:
    assert lint(tmp_path, provider=", allowPost: true") == exit_codes.Exit.DONE


def test_the_fleet_is_that_of_the_settings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lint(tmp_path, provider=", allowPost: true", cluster="mars") == exit_codes.Exit.USAGE
    assert "unknown target mars" in capsys.readouterr().out
