"""Reading a tree never leaves it, whether it is a commit or a plain directory."""

import os
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import pygit2
import pytest
from pygit2.enums import FileMode, ObjectType

from volary.model import errors
from volary.sources.git import repositories
from volary.sources.trees import directories, paths, trees

Commit = Callable[..., tuple[Path, str]]
FILES = {
    "app/deployment.yaml": "kind: Deployment",
    "app/link.yaml": "-> ../shared/service.yaml",
    "app/up": "-> ../shared",
    "app/outside.yaml": "-> ../../secret.yaml",
    "app/absolute.yaml": "-> /etc/hostname",
    "app/circle": "-> circle",
    "app/nothing.yaml": "-> gone.yaml",
    "shared/service.yaml": "kind: Service",
}


@pytest.fixture(params=["directory", "commit"])
async def any_tree(request: pytest.FixtureRequest, commit_files: Commit) -> trees.Tree:
    """The same files once as they lie there and once from Git."""
    root, made = commit_files(FILES)
    (root.parent / "secret.yaml").write_text("password")
    if request.param == "directory":
        return directories.DirectoryTree(root)
    opened = await repositories.open_repository(str(root))
    return await opened.tree(made)


async def test_entries_say_what_they_are(any_tree: trees.Tree) -> None:
    listed = [(entry.name, entry.kind) for entry in any_tree.list("app")]

    assert listed == [
        ("absolute.yaml", trees.Kind.SYMLINK),
        ("circle", trees.Kind.SYMLINK),
        ("deployment.yaml", trees.Kind.FILE),
        ("link.yaml", trees.Kind.SYMLINK),
        ("nothing.yaml", trees.Kind.SYMLINK),
        ("outside.yaml", trees.Kind.SYMLINK),
        ("up", trees.Kind.SYMLINK),
    ]
    assert [entry.path for entry in any_tree.list("")] == ["app", "shared"]
    assert any_tree.entry("app/none.yaml") is None
    assert any_tree.list("app/none") == ()
    assert any_tree.entry("app/deployment.yaml") == trees.Entry(
        "app/deployment.yaml", trees.Kind.FILE, 16
    )


async def test_links_that_stay_inside_are_followed(any_tree: trees.Tree) -> None:
    assert trees.read_text(any_tree, "app/link.yaml") == "kind: Service"
    assert trees.read_text(any_tree, "app/up/service.yaml") == "kind: Service"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("app/outside.yaml", "points to ../../secret.yaml, outside the repository"),
        ("app/absolute.yaml", "points to /etc/hostname, outside the repository"),
        ("app/circle", "the symbolic links go in circles"),
        ("app/nothing.yaml", "the file does not exist"),
        ("app", "a file is expected, this is a directory"),
        ("app/none.yaml", "the file does not exist"),
    ],
)
async def test_what_cannot_be_read_is_refused_by_name(
    any_tree: trees.Tree, path: str, message: str
) -> None:
    with pytest.raises(errors.UserError, match=message) as caught:
        trees.read_text(any_tree, path)

    assert caught.value.problems[0].where.file == path


async def test_an_identity_changes_with_the_content(any_tree: trees.Tree) -> None:
    assert any_tree.identity("app") != any_tree.identity("shared")
    assert any_tree.identity("app") == any_tree.identity("app")


def test_a_plain_directory_notices_changes_and_ignores_git(commit_files: Commit) -> None:
    root, _ = commit_files({"a.yaml": "one"})
    files = directories.DirectoryTree(root)
    before = files.identity("")

    (root / "a.yaml").write_text("two!")

    assert files.identity("") != before
    assert [entry.name for entry in files.list("")] == ["a.yaml"]
    assert files.entry(".git/config") is None


@pytest.mark.parametrize("path", ["/etc/hostname", "../secret.yaml", "app/../../secret.yaml"])
def test_a_plain_directory_has_nothing_outside_of_it(
    directory_tree: Callable[[Mapping[str, str]], directories.DirectoryTree], path: str
) -> None:
    files = directory_tree({"app/a.yaml": "a"})

    assert files.entry(path) is None
    assert files.list(path) == ()


def test_a_directory_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(errors.UserError, match="is not a directory"):
        directories.DirectoryTree(tmp_path / "none")


def test_what_is_no_file_is_not_seen(
    directory_tree: Callable[[Mapping[str, str]], directories.DirectoryTree], tmp_path: Path
) -> None:
    files = directory_tree({"a.yaml": "a"})
    os.mkfifo(tmp_path / "repository" / "pipe.yaml")

    assert [entry.name for entry in files.list("")] == ["a.yaml"]


def test_text_that_is_not_text_and_files_that_are_too_large(
    directory_tree: Callable[[Mapping[str, str]], directories.DirectoryTree], tmp_path: Path
) -> None:
    files = directory_tree({"a.yaml": "a"})
    (tmp_path / "repository" / "bytes.yaml").write_bytes(b"a: \xff")
    with (tmp_path / "repository" / "huge.yaml").open("wb") as huge:
        huge.truncate(trees.LARGEST_FILE + 1)

    with pytest.raises(errors.UserError, match="not UTF-8 text: byte 3"):
        trees.read_text(files, "bytes.yaml")
    with pytest.raises(errors.UserError, match="too large: 16777217 bytes"):
        trees.read_text(files, "huge.yaml")


@pytest.mark.parametrize(
    ("directory_", "path", "joined"),
    [
        ("", "a.yaml", "a.yaml"),
        ("app", "./sub//a.yaml", "app/sub/a.yaml"),
        ("app/us", "../base/", "app/base"),
        ("app", "..", ""),
    ],
)
def test_paths_are_joined_inside_the_root(directory_: str, path: str, joined: str) -> None:
    assert paths.join(directory_, path) == joined


@pytest.mark.parametrize("path", ["/a", "../../a", "sub/../../../a", "a\0b"])
def test_paths_that_leave_the_root_are_refused(path: str) -> None:
    with pytest.raises(paths.OutsideError):
        paths.join("app", path)


def test_a_sibling_with_the_same_beginning_is_not_below() -> None:
    """PipeCD compares text and lets ``app-2`` pass for ``app``."""
    assert not paths.is_below("app-2/values.yaml", "app")


async def test_a_commit_is_read_although_the_checkout_has_moved_on(commit_files: Commit) -> None:
    root, first = commit_files({"a.yaml": "one", "old.yaml": "x"}, "First: one\n\nBody")
    (root / "old.yaml").unlink()
    _, second = commit_files({"a.yaml": "two", "sub/new.yaml": "y"}, "Second")
    (root / "a.yaml").write_text("three, not committed")
    opened = await repositories.open_repository(str(root))

    files = await opened.tree(first)
    found = await opened.resolve(first[:8])

    assert files.read("a.yaml") == b"one"
    assert (found.id, found.subject, found.author) == (
        first,
        "First: one",
        "Ana <ana@example.com>",
    )
    assert found.at.isoformat() == "2023-11-14T22:13:20+00:00"
    assert (await opened.resolve("main")).id == second
    assert await opened.changed_paths(first, second) == ("a.yaml", "old.yaml", "sub/new.yaml")
    assert await opened.uncommitted() == ("a.yaml",)
    assert await opened.uncommitted("sub") == ()
    assert opened.root == root


async def test_tags_bare_mirrors_and_file_urls(commit_files: Commit, tmp_path: Path) -> None:
    root, made = commit_files({"a.yaml": "one"})
    tagger = pygit2.Signature("Ana", "ana@example.com")
    pygit2.Repository(str(root)).create_tag("v1", made, ObjectType.COMMIT, tagger, "First")
    mirror = tmp_path / "mirror of it.git"
    pygit2.clone_repository(str(root), str(mirror), bare=True)
    opened = await repositories.open_repository(f"file://{str(mirror).replace(' ', '%20')}")

    assert (await opened.resolve("v1")).id == made
    assert (await opened.tree("HEAD")).read("a.yaml") == b"one"
    assert opened.root is None
    assert await opened.uncommitted() == ()


async def test_a_submodule_is_named_and_not_entered(commit_files: Commit) -> None:
    root, made = commit_files({"a.yaml": "one"})
    opened = pygit2.Repository(str(root))
    opened.index.add(pygit2.IndexEntry("vendor", pygit2.Oid(hex=made), FileMode.COMMIT))
    files = repositories.GitTree(
        opened,
        opened[opened.index.write_tree()],
        threading.Lock(),
    )

    assert files.list("")[1].kind is trees.Kind.SUBMODULE
    with pytest.raises(errors.UserError, match="vendor is a submodule"):
        trees.read_text(files, "vendor/a.yaml")


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("https://user:secret@git.example/shop.git", "https:// repositories are not read yet"),
        ("file://elsewhere/shop.git", "file:// repositories are not read yet"),
    ],
)
async def test_what_cannot_be_opened_is_said_without_secrets(location: str, message: str) -> None:
    with pytest.raises(errors.UserError, match=message) as caught:
        await repositories.open_repository(location)

    assert "secret" not in str(caught.value)


async def test_no_repository_and_no_commit(commit_files: Commit, tmp_path: Path) -> None:
    root, _ = commit_files({"a.yaml": "one"})
    opened = await repositories.open_repository(str(root))

    with pytest.raises(errors.UserError, match="has no commit nonsense"):
        await opened.resolve("nonsense")
    with pytest.raises(errors.UserError, match="has no commit 00000000"):
        await opened.tree("0" * 40)
    (tmp_path / "plain").mkdir()
    with pytest.raises(errors.UserError, match="is not a Git repository"):
        await repositories.open_repository(str(tmp_path / "plain"))
    assert repositories.find_root(tmp_path / "plain") is None
    assert repositories.find_root(root) == root
