"""Parts of a tree in a private directory."""

from collections.abc import Callable, Mapping

import pytest

from volary.model import errors
from volary.sources.rendering import workspace
from volary.sources.trees import directories

Tree = Callable[[Mapping[str, str]], directories.DirectoryTree]


async def test_only_what_is_wanted_is_there_and_only_for_us(directory_tree: Tree) -> None:
    files = directory_tree({"a/b/c.yaml": "c", "a/d.yaml": "d", "e.yaml": "e", "f": "-> e.yaml"})

    async with workspace.private_directory(
        files, ["a/b", "f", "a/b/c.yaml"], workspace.Limits()
    ) as (
        home,
        root,
    ):
        written = sorted(str(each.relative_to(root)) for each in root.rglob("*") if each.is_file())
        assert written == ["a/b/c.yaml", "f"]
        assert (root / "f").read_text() == "e"
        assert not (root / "f").is_symlink()
        assert list(home.iterdir()) == []
        assert root.parent.stat().st_mode & 0o077 == 0

    assert not root.parent.exists()


@pytest.mark.parametrize(
    "limits", [workspace.Limits(files=2), workspace.Limits(bytes=2)], ids=["files", "bytes"]
)
async def test_too_much_is_refused(directory_tree: Tree, limits: workspace.Limits) -> None:
    files = directory_tree({f"a/{number}.yaml": "x" for number in range(3)})

    with pytest.raises(errors.UserError, match="would have to be read"):
        async with workspace.private_directory(files, ["a"], limits):
            pass
