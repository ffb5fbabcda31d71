"""What a kustomization may name, and everything that is refused before a program is run.

Each folder of tests/cases/kustomize is a repository whose application is in `app`.
`VOLARY_UPDATE_CASES=1` writes what is found; read the difference before committing it.
"""

import os
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

import process_time
from volary import subprocesses
from volary.config.text import yaml
from volary.manifests.loading import documents, serialization
from volary.model import applications, errors
from volary.sources.rendering import kustomization_fields, kustomizations, programs, renderers
from volary.sources.trees import directories

Tree = Callable[[Mapping[str, str]], directories.DirectoryTree]
CASES = Path(__file__).parents[3] / "cases/kustomize"
APPLICATION = applications.Application("shop")


def names(kind: str) -> list[str]:
    return sorted(folder.name for folder in (CASES / kind).iterdir())


def expect(file: Path, found: str) -> None:
    if os.environ.get("VOLARY_UPDATE_CASES"):
        file.write_text(found)
    assert found == file.read_text()


@pytest.mark.parametrize("case", names("refused"))
def test_what_leads_out_of_the_checkout_is_refused_with_its_place(case: str) -> None:
    folder = CASES / "refused" / case

    with pytest.raises(errors.UserError) as caught:
        kustomizations.read(directories.DirectoryTree(folder), "app")

    expect(folder / "problems.txt", "".join(f"{problem}\n" for problem in caught.value.problems))


@pytest.mark.parametrize("case", names("built"))
async def test_everything_local_is_built_as_kustomize_builds_it(
    case: str, renderer: renderers.Renderer
) -> None:
    folder = CASES / "built" / case

    rendered = await renderer.render(
        directories.DirectoryTree(folder), APPLICATION, directory="app", target="us"
    )

    bodies = [item.body for item in rendered.manifests]
    expect(folder / "expected.yaml", "---\n".join(map(serialization.dump_body, bodies)))
    # Built from what is written, without our reader in between.
    kubectl = programs.find()["kubectl"]
    built = await subprocesses.run(
        [kubectl, "kustomize", str(folder / "app")],
        environment={},
        timeout=timedelta(seconds=process_time.HANG),
    )
    assert [item.body for item in documents.parse(built.text("kubectl"), file="")] == bodies


def test_links_that_leave_the_checkout_are_refused(directory_tree: Tree, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("a: b")
    files = directory_tree(
        {
            "app/kustomization.yaml": (
                "resources: [base]\ngenerators: [plugin.yaml]\n"
                "configMapGenerator: [{name: a, files: [key=secret]}]\n"
            ),
            "app/base": "-> ../../..",
            "app/plugin.yaml": "-> /etc/passwd",
            "app/secret": "-> ../../secret",
        }
    )

    with pytest.raises(errors.UserError) as caught:
        kustomizations.read(files, "app")

    assert {(problem.where.file, problem.message) for problem in caught.value.problems} == {
        ("app/base", "the symbolic link points to ../../.., outside the repository"),
        ("app/plugin.yaml", "the symbolic link points to /etc/passwd, outside the repository"),
        ("app/secret", "the symbolic link points to ../../secret, outside the repository"),
    }


def test_a_chain_without_an_end_is_refused(directory_tree: Tree) -> None:
    chain = {
        f"a{number}/kustomization.yaml": f"resources: [../a{number + 1}]\n"
        for number in range(1001)
    }

    with pytest.raises(errors.UserError, match="more than 1000 files and directories"):
        kustomizations.read(directory_tree(chain), "a0")


def test_a_text_that_aliases_made_enormous_is_refused(directory_tree: Tree) -> None:
    """Twenty megabytes on the way to being written out, from two: as many as aliases may make."""
    text = "x" * 1_500_000
    written = f"commonAnnotations: {{a: &a '{text}'}}\nlabels: [{', '.join(['*a'] * 12)}]\n"

    with pytest.raises(errors.UserError, match="it is larger than 16 MiB when"):
        kustomizations.read(directory_tree({"kustomization.yaml": written}), "")


TEXT = some.text(max_size=20)
SCALARS = some.none() | some.booleans() | some.integers(-(2**53), 2**53) | TEXT
BODIES = some.dictionaries(TEXT, SCALARS | some.lists(SCALARS, max_size=3), min_size=1, max_size=4)


@given(some.lists(BODIES, min_size=1, max_size=2))
def test_what_is_written_is_read_back_the_same(bodies: list[object]) -> None:
    text = kustomization_fields.as_text(bodies)

    assert [document.value for document in yaml.load_all(text)] == bodies
    assert text.startswith("{")
