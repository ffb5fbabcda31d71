"""What the server makes of its settings before anything is opened."""

import asyncio
import logging
from pathlib import Path

import pytest

import process_time
from volary.config.projects import definitions, project_files
from volary.controller import composition, system_clock
from volary.isolation import launcher, probing
from volary.model import errors, projects, server_settings
from volary.server import hosting, tracing
from volary.telemetry import otlp


def test_addresses_of_chats_are_secrets(tmp_path: Path) -> None:
    """Whoever knows the address of an incoming webhook may write to the channel."""
    for name in ("slack", "teams"):
        (tmp_path / name).write_text(f"https://{name}.example.org/hook/1234\n")
    receivers = (
        server_settings.Receiver("a", slack=server_settings.Slack(str(tmp_path / "slack"))),
        server_settings.Receiver("b", msteams=server_settings.Chat(str(tmp_path / "teams"))),
    )
    settings = server_settings.Settings(
        "fleet.yaml", ".", "", notifications=server_settings.Notifications(receivers=receivers)
    )

    assert hosting.secrets_of(settings) == (
        "https://slack.example.org/hook/1234",
        "https://teams.example.org/hook/1234",
    )


def test_what_renderers_are_kept_from_is_logged_and_less_than_all_is_a_warning() -> None:
    whole = probing.Isolation(launcher.AS_USER, filter=True)
    filtered = probing.Isolation(filter=True, network_refusal="Operation not permitted")
    nothing = probing.without_launcher("not on darwin")

    assert hosting.isolation_notice(whole, required=True) == (logging.INFO, whole.sentence)
    assert hosting.isolation_notice(filtered, required=True) == (
        logging.WARNING,
        filtered.sentence,
    )
    assert hosting.isolation_notice(nothing, required=False) == (logging.WARNING, nothing.sentence)
    assert hosting.isolation_notice(nothing, required=True) == (
        logging.WARNING,
        f"{nothing.sentence}; nothing is rendered with kustomize or helm"
        " (rendererIsolation: required)",
    )


async def test_a_data_directory_that_is_opened_is_closed_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    async with asyncio.timeout(process_time.HANG), asyncio.TaskGroup() as group:
        keeping = group.create_task(hosting.keep_private(data, interval=0.01))
        data.chmod(0o755)
        while data.stat().st_mode & 0o077:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        keeping.cancel()

    assert data.stat().st_mode & 0o777 == 0o700
    assert "could be entered by others; it is closed again" in caplog.text


@pytest.mark.parametrize("place", ["checkout", "volary-data/mirrors/shop.git", "absent"])
async def test_a_server_does_not_begin_with_keys_where_they_cannot_stay(
    place: str, tmp_path: Path
) -> None:
    file = tmp_path / place / "age.txt"
    if place != "absent":
        file.parent.mkdir(parents=True)
        file.write_text("AGE-SECRET-KEY-1CANARY\n")
    (tmp_path / "fleet.yaml").write_text(
        "apiVersion: volary.dev/v1\nkind: Fleet\nclusters: [{name: us, kubeconfig: k}]\n"
    )
    settings = server_settings.Settings(
        str(tmp_path / "fleet.yaml"),
        str(tmp_path / "volary-data"),
        "memory:",
        repositories=(server_settings.Repository("shop", f"file://{tmp_path}/checkout"),),
        secrets=server_settings.Secrets(server_settings.Sops(age_key_file=str(file))),
    )

    with pytest.raises(errors.UserError) as raised:
        await hosting.run(settings, clock=system_clock.SystemClock())

    said = "does not exist" if place == "absent" else "is in the repository"
    assert f"the key {file} {said}" in str(raised.value)
    assert "CANARY" not in str(raised.value)


PROJECT = """
apiVersion: volary.dev/v1
kind: Project
metadata: {name: %s}
spec:
  sources: [{repository: shop}]
  destinations: [{namespaces: [shop]}]
  secrets: {sops: {ageKeyFile: age.txt}}
"""


def _projects(*files: Path, repository: str = "") -> server_settings.Settings:
    return server_settings.Settings(
        "fleet.yaml",
        repositories=(server_settings.Repository("shop", "https://git.example/shop"),),
        projects=server_settings.ProjectFiles(tuple(map(str, files)), repository),
    )


def test_project_files_beside_the_settings_are_read_each_from_its_directory(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "project.yaml").write_text(PROJECT % name)
    files = (tmp_path / "a/project.yaml", tmp_path / "b/project.yaml")

    found = hosting.read_projects(_projects(*files)).of(project_files.PROJECT)

    keys = {name: each.secrets.sops.age_key_file for name, each in found.items() if each.secrets}
    assert keys == {"a": str(tmp_path / "a/age.txt"), "b": str(tmp_path / "b/age.txt")}


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ([None], "cannot be read: no such file or directory"),
        ([PROJECT % "a", PROJECT % "a"], "the project a is there already"),
        ([PROJECT % "a", "kind: Projekt"], "did you mean Project?"),
        (["# nothing"], "the file says nothing"),
    ],
)
def test_a_server_does_not_begin_with_project_files_that_have_errors(
    tmp_path: Path, texts: list[str | None], message: str
) -> None:
    files = [tmp_path / f"{number}.yaml" for number in range(len(texts))]
    for file, text in zip(files, texts, strict=True):
        if text is not None:
            file.write_text(text)

    with pytest.raises(errors.UserError) as refused:
        hosting.read_projects(_projects(*files))

    assert message in "; ".join(map(str, refused.value.problems))


def test_a_workspace_may_be_of_a_project_in_another_file(tmp_path: Path) -> None:
    space, team = tmp_path / "space.yaml", tmp_path / "team.yaml"
    space.write_text(
        "apiVersion: volary.dev/v1\nkind: Workspace\nmetadata: {name: shop}\n"
        "spec: {project: shop, namespaces: [{name: shop}]}\n"
    )
    team.write_text(
        "apiVersion: volary.dev/v1\nkind: Project\nmetadata: {name: shop}\n"
        "spec: {sources: [{repository: shop}], destinations: [{namespaces: [shop]}]}\n"
    )

    found = hosting.read_projects(_projects(space, team)).of(project_files.WORKSPACE)
    assert found["shop"].project == "shop"

    team.write_text(team.read_text().replace("{name: shop}", "{name: shops}"))
    with pytest.raises(errors.UserError, match="workspace shop is of project shop, which is not"):
        hosting.read_projects(_projects(space, team))


def test_a_server_without_projects_says_what_that_means() -> None:
    notice = hosting.projects_notice(_projects())

    assert "there are no projects: whoever may push to shop may deploy anything" in notice
    assert "docs/how-to/projects.md" in notice
    assert hosting.projects_notice(_projects(Path("a.yaml"))) == ""
    assert hosting.projects_notice(_projects(repository="shop")) == ""


def test_programs_that_render_see_neither_the_servers_data_nor_its_keys(tmp_path: Path) -> None:
    secrets = server_settings.Secrets(
        server_settings.Sops(age_key_file="/keys/age", gnupg_home="/keys/gnupg"),
        server_settings.KeyPair("/keys/private.pem"),
    )
    own = projects.Project("a", secrets=server_settings.Secrets(server_settings.Sops("/keys/a")))
    beside = definitions.Definitions({"Project": {"a": own}})
    settings = server_settings.Settings("fleet.yaml", str(tmp_path / "data"), "", secrets=secrets)

    assert composition.hidden_files(settings, beside) == (
        str(tmp_path / "data"),
        "/keys/age",
        "/keys/gnupg",
        "/keys/private.pem",
        "/keys/a",
    )


def test_tracing_without_its_packages_is_said_with_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(otlp, "IS_INSTALLED", False)
    wanted = server_settings.Tracing("http://127.0.0.1:4318")

    with pytest.raises(errors.UserError, match="not installed") as raised, tracing.traced(wanted):
        pass

    assert raised.value.problems[0].hint == "pip install 'volary[otel]'"


def test_a_collector_s_token_is_a_secret(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("of-the-collector\n")
    tracing = server_settings.Tracing("https://collector", token_file=str(tmp_path / "token"))
    settings = server_settings.Settings("fleet.yaml", ".", tracing=tracing)

    assert hosting.secrets_of(settings) == ("of-the-collector",)
