"""Commands as a user types them, in a process of their own, and how they start from nothing."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import typer.main

import command_world
import process_time
from volary import main

ROOT = Path(__file__).parents[4]
EXAMPLES = sorted(
    path.parent.name
    for pattern in ("volary.yaml", "*.pipecd.yaml")
    for path in (ROOT / "examples").glob(f"*/{pattern}")
)


async def volary(*words: str) -> command_world.Ended:
    shell = command_world.Shell(ROOT, dict(os.environ))
    return await shell.volary(*words)


def test_a_command_starts_from_nothing() -> None:
    """All other tests have processes of `warm_processes`, where everything was imported before."""
    ended = subprocess.run(
        [sys.executable, "-m", "volary", "render", "examples/simple", "--target", "us"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
        timeout=process_time.HANG,
    )

    assert (ended.returncode, ended.stderr) == (0, "")
    assert "kind: Deployment" in ended.stdout


def test_the_commands_are_known_without_what_carries_them_out() -> None:
    code = (
        "import sys; from volary import main;"
        " print(*{name.split('.')[1] for name in sys.modules if name.startswith('volary.')})"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=process_time.HANG,
    )

    assert set(loaded.stdout.split()) == {"cli", "demo", "main", "model"}


def test_a_command_that_is_read_alone_is_the_one_among_all(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    every = typer.main.get_command(main.app)
    names = list(every.commands)  # type: ignore[attr-defined] # typer hides click's types

    def said(run: Callable[[], object]) -> str:
        with contextlib.suppress(SystemExit):
            run()
        return capsys.readouterr().out

    for name in names:
        monkeypatch.setattr("sys.argv", ["volary", name, "--help"])

        assert said(main.main) == said(every), name
    assert {"run", "cluster", "login", "sandbox"} <= set(names)


#: As where the extra is not installed.
_WITHOUT_SANDBOX = (
    "import sys; sys.modules['kube_sandbox'] = None; from volary import main; main.main()"
)


@pytest.mark.parametrize("words", [("--help",), ("render", "examples/simple", "--target", "us")])
def test_commands_need_no_sandbox(words: tuple[str, ...]) -> None:
    ended = _without_sandbox(*words)

    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout


@pytest.mark.parametrize("words", [("demo",), ("sandbox", "up"), ("sandbox", "--help")])
def test_a_sandbox_that_is_not_installed_is_a_clear_error(words: tuple[str, ...]) -> None:
    ended = _without_sandbox(*words)

    assert ended.returncode == 2
    assert ended.stderr == (
        "error: the sandbox is not installed\n  hint: pip install 'volary[sandbox]'\n"
    )


def _without_sandbox(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", _WITHOUT_SANDBOX, *words],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
        timeout=process_time.HANG,
    )


def test_there_are_at_least_five_examples() -> None:
    assert len(EXAMPLES) >= 5


async def test_every_example_is_clean() -> None:
    ended = await volary("lint", "examples")

    assert (ended.code, ended.out) == (0, "")


@pytest.mark.parametrize("example", [name for name in EXAMPLES if name != "helm"])
async def test_every_example_renders(example: str) -> None:
    fleet = Path(f"examples/{example}/fleet.yaml")
    known = ["--fleet", str(fleet)] if (ROOT / fleet).exists() else []
    ended = await volary("render", f"examples/{example}", "--target", "us", "-o", "json", *known)

    assert ended.code == 0, ended.err
    items = json.loads(ended.out)
    assert items


async def test_lint_shows_all_problems_at_once_with_line_and_hint(tmp_path: Path) -> None:
    (tmp_path / "volary.yaml").write_text(
        "apiVersion: volary.dev/v1\nkind: Application\nmetadata: {name: shop}\nspec:\n"
        "  pipelin: {}\n  pipeline:\n    stages:\n    - name: K8S_CANARY_ROLLOUT\n"
        "      with: {replicas: abc}\n"
    )

    ended = await volary("lint", str(tmp_path), "--output", "json")

    found = {each["path"]: each for each in json.loads(ended.out)}
    assert ended.code == 2
    assert found["spec.pipelin"]["line"] == 5
    assert "pipeline" in found["spec.pipelin"]["hint"]
    assert found["spec.pipeline.stages[0].with.replicas"]["line"] == 9


@pytest.mark.parametrize("path", [".", "shop", "shop/app.pipecd.yaml"])
async def test_lint_finds_the_templates_of_the_repository(tmp_path: Path, path: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".pipe").mkdir()
    (tmp_path / "shop").mkdir()
    template = tmp_path / ".pipe" / "analysis-template.yaml"
    template.write_text(
        "apiVersion: pipecd.dev/v1beta1\nkind: AnalysisTemplate\nspec:\n  metrics:\n"
        "    errors: {provider: prom, query: up, interval: 1m, expected: {max: 1}}\n"
    )
    (tmp_path / "shop" / "app.pipecd.yaml").write_text(
        "apiVersion: pipecd.dev/v1beta1\nkind: Application\nspec:\n  pipeline:\n    stages:\n"
        "    - name: ANALYSIS\n"
        "      with: {duration: 5m, metrics: [{template: {name: errors}}]}\n"
    )

    ended = await volary("lint", str(tmp_path / path))
    assert ended.code == 0, ended.err + ended.out

    template.write_text(template.read_text().replace("{max: 1}", "{}"))
    ended = await volary("lint", str(tmp_path / path))
    assert ended.code == 2
    assert ".pipe/analysis-template.yaml" in ended.out + ended.err


async def test_a_missing_path_is_a_clear_error_without_traceback() -> None:
    ended = await volary("lint", "nowhere")

    assert ended.code == 2
    assert ended.err == "error: nowhere does not exist\n"


async def test_a_file_that_is_not_checked_is_not_called_free_of_errors(tmp_path: Path) -> None:
    manifest = tmp_path / "web.yaml"
    manifest.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n")

    ended = await volary("lint", str(manifest))

    assert ended.code == 2
    assert "web.yaml is not one of the files that are checked" in ended.err


async def test_schema_is_json_schema() -> None:
    ended = await volary("schema", "fleet")

    assert json.loads(ended.out)["$schema"].startswith("https://json-schema.org/")


async def test_an_unknown_command_is_wrong_usage() -> None:
    assert (await volary("relase")).code == 2
