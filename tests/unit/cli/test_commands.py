"""Commands as a user types them, in a process of their own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
EXAMPLES = sorted(
    path.parent.name
    for pattern in ("volary.yaml", "*.pipecd.yaml")
    for path in (ROOT / "examples").glob(f"*/{pattern}")
)


def volary(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "volary", *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        check=False,
        timeout=60,
    )


def test_there_are_at_least_five_examples() -> None:
    assert len(EXAMPLES) >= 5


def test_every_example_is_clean() -> None:
    ended = volary("lint", "examples")

    assert (ended.returncode, ended.stdout) == (0, "")


@pytest.mark.parametrize("example", [name for name in EXAMPLES if name != "helm"])
def test_every_example_renders(example: str) -> None:
    fleet = Path(f"examples/{example}/fleet.yaml")
    known = ["--fleet", str(fleet)] if (ROOT / fleet).exists() else []
    ended = volary("render", f"examples/{example}", "--target", "us", "-o", "json", *known)

    assert ended.returncode == 0, ended.stderr
    items = json.loads(ended.stdout)
    assert items


def test_lint_shows_all_problems_at_once_with_line_and_hint(tmp_path: Path) -> None:
    (tmp_path / "volary.yaml").write_text(
        "apiVersion: volary.dev/v1\nkind: Application\nmetadata: {name: shop}\nspec:\n"
        "  pipelin: {}\n  pipeline:\n    stages:\n    - name: K8S_CANARY_ROLLOUT\n"
        "      with: {replicas: abc}\n"
    )

    ended = volary("lint", str(tmp_path), "--output", "json")

    found = {each["path"]: each for each in json.loads(ended.stdout)}
    assert ended.returncode == 2
    assert found["spec.pipelin"]["line"] == 5
    assert "pipeline" in found["spec.pipelin"]["hint"]
    assert found["spec.pipeline.stages[0].with.replicas"]["line"] == 9


def test_a_missing_path_is_a_clear_error_without_traceback() -> None:
    ended = volary("lint", "nowhere")

    assert ended.returncode == 2
    assert ended.stderr == "error: nowhere does not exist\n"


def test_schema_is_json_schema() -> None:
    ended = volary("schema", "fleet")

    assert json.loads(ended.stdout)["$schema"].startswith("https://json-schema.org/")


def test_an_unknown_command_is_wrong_usage() -> None:
    assert volary("relase").returncode == 2
