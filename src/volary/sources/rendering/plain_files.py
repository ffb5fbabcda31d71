"""Plain YAML and JSON files of the application directory (PipeCD: plain YAML)."""

import contextlib
import re

from volary.config.text import yaml
from volary.manifests.loading import documents
from volary.model import applications, errors, work_limits
from volary.model.objects import manifest
from volary.sources import application_discovery
from volary.sources.rendering import placeholders
from volary.sources.trees import paths, trees

_SUFFIXES = (".yaml", ".yml", ".json")
#: Volary's and PipeCD's own files, such as a fleet file beside the application.
_SETTINGS = re.compile(r"^[\"']?apiVersion[\"']?\s*:\s*[\"']?(volary|pipecd)\.dev/", re.MULTILINE)


def read(
    files: trees.Tree, directory: str, named: tuple[str, ...], dialect: applications.Dialect
) -> list[manifest.Manifest]:
    """Return the objects of the `named` files in that order.

    Without names: of every file directly in `directory` with a suffix of YAML or JSON, in
    lexical order, but for application files and other settings of Volary and PipeCD.
    Better than PipeCD, whose files may lie anywhere on the disk: all must be in `directory`.

    Raises:
        UserError: With every problem of every file.
    """
    manifests: list[manifest.Manifest] = []
    problems: list[errors.Problem] = []
    for path in named or _all(files, directory):
        inside = path
        try:
            inside = _inside(files, directory, path)
            text = trees.read_text(files, inside)
            if named or not _is_settings(text, inside):
                placeholders.refuse_in_text(text, inside, dialect)
                manifests += documents.parse(text, file=inside)
        except errors.UserError as error:
            problems += error.problems
        if len(manifests) > work_limits.OBJECTS:
            raise documents.too_many(errors.Location(inside))
    if problems:
        raise errors.UserError(*problems)
    return manifests


def paths_of(files: trees.Tree, directory: str, named: tuple[str, ...]) -> list[str]:
    """Return the paths of the files that `read` reads; those that it refuses are left out."""
    found = []
    for path in named or _all(files, directory):
        with contextlib.suppress(errors.UserError):
            found.append(_inside(files, directory, path))
    return found


def _is_settings(text: str, file: str) -> bool:
    """Say whether every document of the file is Volary's or PipeCD's own."""
    if not _SETTINGS.search(text):
        return False
    values = [document.value for document in yaml.load_all(text, file)]
    return all(
        isinstance(value, dict)
        and str(value.get("apiVersion")).startswith(("volary.dev/", "pipecd.dev/"))
        for value in values
    )


def _all(files: trees.Tree, directory: str) -> list[str]:
    return [
        entry.name
        for entry in files.list(directory)
        if entry.kind in (trees.Kind.FILE, trees.Kind.SYMLINK)
        and entry.name.endswith(_SUFFIXES)
        and not application_discovery.is_application_file(entry.name)
    ]


def _inside(files: trees.Tree, directory: str, path: str) -> str:
    """Return the file's path in the tree, after making sure that it is in `directory`."""
    where = errors.Location(path)
    hint = "manifests are read from the application directory only"
    refusal = "the manifest is outside the repository"
    joined = trees.join(directory, path, refusal, hint=hint, where=where)
    if not paths.is_below(joined, directory):
        raise errors.user_error(
            "the manifest is outside the application directory", hint=hint, where=where
        )
    real = trees.follow(files, joined)
    if real is not None and not paths.is_below(real.path, directory):
        raise errors.user_error(
            f"the symbolic link points to {real.path}, outside the application directory",
            hint=hint,
            where=errors.Location(joined),
        )
    return joined
