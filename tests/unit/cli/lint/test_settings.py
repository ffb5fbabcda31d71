"""`volary lint --config` knows whom a server would ask, and which clusters it has."""

from pathlib import Path

import pytest

from volary.cli import exit_codes
from volary.cli.lint import linting
from volary.controller import system_clock
from volary.model import server_settings
from volary.server.authentication import tokens

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


def lint(
    base: Path,
    *,
    provider: str = "",
    cluster: str = "us",
    projects: str = "",
    fleet: str = FLEET,
) -> int:
    (base / "shop").mkdir()
    (base / "shop/volary.yaml").write_text(APPLICATION % cluster)
    (base / "settings.yaml").write_text(SETTINGS % provider + projects)
    (base / "members.yaml").write_text(fleet)
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


@pytest.mark.parametrize("engine", ["", "engine: {temporal: {address: 'localhost:7233'}}\n"])
def test_clusters_with_agents_that_get_no_tasks_are_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], engine: str
) -> None:
    fleet = FLEET.replace("{name: us}", "{name: us, agent: true}, {name: eu}")

    code = lint(tmp_path, provider=", allowPost: true", projects=engine, fleet=fleet)

    told = capsys.readouterr().out
    assert code == exit_codes.Exit.DONE
    assert ("nothing can be written to us: agents take tasks from Temporal" in told) == (not engine)


APPROVED = """\
apiVersion: volary.dev/v1
kind: Application
metadata: {name: shop, labels: {team: %s}}
spec:
  pipeline:
    stages: [{name: WAIT_APPROVAL, with: {approvers: ["%s"]}}, {name: K8S_SYNC}]
"""
OIDC = """\
auth: {oidc: {issuer: "https://id.example", audience: volary}}
roles:
- {role: approver, subject: "oidc:ana@example.org", applications: {matchLabels: {team: web}}}
- {role: deployer, subject: "oidc:ben@example.org"}
"""


@pytest.mark.parametrize(
    ("approver", "settings", "team", "is_fine"),
    [
        ("token:ana", "", "web", True),
        ("token:ben", "", "web", False),  # a deployer, who must not approve
        ("token:gone", "", "web", False),
        ("token:nobody", "", "web", False),
        ("ana", "", "web", False),
        ("oidc:ana@example.org", "", "web", False),  # nobody says who that is
        ("local", "", "web", False),  # there are tokens
        ("ana@example.org", OIDC, "web", True),
        ("oidc:ana@example.org", OIDC, "web", True),
        ("oidc:ana@example.org", OIDC, "data", False),
        ("oidc:ben@example.org", OIDC, "web", False),
        ("oidc:eve@example.org", OIDC + "- {role: approver, group: leads}\n", "web", True),
    ],
)
def test_an_approver_that_nobody_can_be_is_an_error(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    approver: str,
    settings: str,
    team: str,
    is_fine: bool,
) -> None:
    kept, now = tokens.TokenFile(tmp_path / "data"), system_clock.SystemClock().now()
    for name, role in (("ana", "approver"), ("ben", "deployer"), ("gone", "admin")):
        kept.create(name, server_settings.Role(role), now=now, match_labels={})
    kept.revoke("gone", now=now)

    code = lint_approver(tmp_path, approver, f"dataDirectory: data\n{settings}", team)

    assert (code == exit_codes.Exit.DONE) is is_fine
    told = f"WAIT_APPROVAL: nobody on this server may approve as {approver}"
    assert (told in capsys.readouterr().out) is not is_fine


def test_where_the_tokens_are_elsewhere_any_may_be_meant_and_a_bare_name_is_none(
    tmp_path: Path,
) -> None:
    assert lint_approver(tmp_path, "token:ana") == exit_codes.Exit.DONE
    assert lint_approver(tmp_path, "local", "authentication: none\n") == exit_codes.Exit.DONE
    assert lint_approver(tmp_path, "local") == exit_codes.Exit.USAGE
    assert lint_approver(tmp_path, "ana") == exit_codes.Exit.USAGE


def lint_approver(base: Path, approver: str, settings: str = "", team: str = "web") -> int:
    (base / "shop").mkdir(exist_ok=True)
    (base / "shop/volary.yaml").write_text(APPROVED % (team, approver))
    (base / "settings.yaml").write_text(SETTINGS % "" + settings)
    (base / "members.yaml").write_text(FLEET)
    config = str(base / "settings.yaml")
    return linting.run(str(base / "shop"), fleet="", contexts="", config=config, as_json=False)


def test_project_files_of_the_settings_are_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "teams.yaml").write_text(
        "apiVersion: volary.dev/v1\nkind: Project\nmetadata: {name: shop}\nspec:\n"
        "  sources: [{repository: shopp}]\n  destinations: [{namespaces: ['!shop']}]\n"
    )

    assert lint(tmp_path, projects="projects: {files: [teams.yaml]}\n") == exit_codes.Exit.USAGE

    told = capsys.readouterr().out
    assert "teams.yaml:5: " in told
    assert "no repository of the settings is called shopp" in told
    assert "!shop would permit nothing" in told


def test_projects_of_a_directory_are_found_by_what_is_in_their_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "teams").mkdir()
    (tmp_path / "teams/shop.yaml").write_text(
        "apiVersion: volary.dev/v1\nkind: Project\nmetadata: {name: shop}\nspec: {}\n"
    )
    (tmp_path / "teams/other.yaml").write_bytes(b"\xff\xfe not ours")

    code = linting.run(str(tmp_path), fleet="", contexts="", as_json=False)

    told = capsys.readouterr()
    assert code == exit_codes.Exit.USAGE
    assert "teams/shop.yaml:4: spec.sources: is required" in told.out
    assert "1 file" in told.err
