"""What a kustomization refers to: everything local is collected, everything remote refused.

kustomize would fetch remote bases, files and charts over the network; here a build
depends on the commit alone. Knowing the references also keeps the rest of a large
repository out of the private directory.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from volary.config.text import yaml
from volary.model import errors, json
from volary.sources.trees import paths, trees

#: In the order kustomize looks for them.
NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")

#: Fields with files or directories of their own, checked and followed.
_FOLLOWED = ("resources", "bases", "components", "generators", "transformers", "validators")
#: Fields with files that are read as they are.
_READ = ("crds", "configurations", "patchesStrategicMerge")
#: Fields with charts, which kustomize renders by running helm.
_CHARTS = ("helmCharts", "helmChartInflationGenerator", "helmGlobals")
_MOST_KUSTOMIZATIONS = 1000


@dataclass(frozen=True, slots=True)
class _Reference:
    """One path as written in a kustomization."""

    field: str
    value: str
    #: It must exist and may be a directory with a kustomization of its own.
    followed: bool = False


def find(files: trees.Tree, directory: str) -> str:
    """Return the path of the kustomization in `directory`; empty when there is none."""
    for name in NAMES:
        path = paths.join(directory, name)
        entry = trees.follow(files, path)
        if entry is not None and entry.kind is trees.Kind.FILE:
            return path
    return ""


def needed(files: trees.Tree, directory: str) -> tuple[str, ...]:
    """Return the directories and files a build of `directory` reads.

    Raises:
        UserError: With every remote, missing or outside reference of every kustomization
            that is part of the build.
    """
    wanted: set[str] = set()
    problems: list[errors.Problem] = []
    waiting = [directory]
    while waiting:
        current = waiting.pop()
        if current in wanted:
            continue
        wanted.add(current)
        if len(wanted) > _MOST_KUSTOMIZATIONS:
            raise errors.user_error(
                f"more than {_MOST_KUSTOMIZATIONS} files and directories are part of the build",
                where=errors.Location(directory),
            )
        try:
            waiting += _of_directory(files, current)
        except errors.UserError as error:
            problems += error.problems
    if problems:
        raise errors.UserError(*problems)
    return tuple(sorted(wanted))


def _of_directory(files: trees.Tree, directory: str) -> list[str]:
    """Return what the kustomization in `directory` refers to; nothing for a file."""
    entry = trees.follow(files, directory)
    if entry is None or entry.kind is trees.Kind.FILE:
        return []
    path = find(files, directory)
    if not path:
        raise errors.user_error(
            "the directory has no kustomization",
            hint=f"one of {', '.join(NAMES)} is expected in it",
            where=errors.Location(directory),
        )
    problems: list[errors.Problem] = []
    wanted: list[str] = []
    for document in yaml.load_all(trees.read_text(files, path), path):
        if not isinstance(document.value, dict):
            continue
        for reference in _references(document.value):
            answer = _check(files, path, reference)
            if isinstance(answer, errors.Problem):
                problems.append(answer)
            elif answer is not None:
                wanted.append(answer)
    if problems:
        raise errors.UserError(*problems)
    return wanted


def _check(
    files: trees.Tree, kustomization: str, reference: _Reference
) -> str | errors.Problem | None:
    """Return what has to be visited too, what is wrong, or None when neither."""
    where = errors.Location(kustomization, path=reference.field)
    directory = paths.parent(kustomization)
    if reference.field in _CHARTS:
        return errors.Problem(
            "charts inside a kustomization are not rendered",
            where,
            hint="use input.helmChart, or commit the chart's output",
        )
    try:
        inside = paths.join(directory, reference.value)
    except paths.OutsideError:
        return errors.Problem(f"{reference.value} is outside the repository", where)
    remote = _looks_remote(reference.value) if reference.followed else _is_url(reference.value)
    if remote and trees.follow(files, inside) is None:
        return errors.Problem(
            f"{reference.value} is remote, and a build never uses the network",
            where,
            hint="copy it into the repository",
        )
    entry = trees.follow(files, inside)
    if reference.followed and entry is None:
        return errors.Problem(f"{reference.value} does not exist in the repository", where)
    is_directory = entry is not None and entry.kind is trees.Kind.DIRECTORY
    if not is_directory and not paths.is_below(inside, directory):
        return errors.Problem(
            f"{reference.value} is a file outside the kustomization's directory",
            where,
            hint="kustomize reads files from there and below only; directories may be elsewhere",
        )
    return inside if reference.followed else None


def _is_url(value: str) -> bool:
    return "://" in value


def _looks_remote(value: str) -> bool:
    host = value.partition("/")[0]
    return (
        _is_url(value)
        or "::" in value
        or "?ref=" in value
        or value.startswith("git@")
        or ("." in host.strip(".") and "/" in value and not value.startswith("."))
    )


def _references(body: json.JsonObject) -> Iterator[_Reference]:
    for field in _CHARTS:
        if body.get(field):
            yield _Reference(field, "")
    for field in (*_FOLLOWED, *_READ):
        for value in _texts(body.get(field)):
            # Generators and their like may also be written inline.
            if "\n" not in value:
                yield _Reference(field, value, followed=field in _FOLLOWED)
    yield from _nested(body)


def _nested(body: json.JsonObject) -> Iterator[_Reference]:
    """Yield the files named inside of lists of objects."""
    for field in ("patches", "patchesJson6902", "replacements", "openapi"):
        for entry in _objects(body.get(field)):
            for value in _texts(entry.get("path")):
                yield _Reference(f"{field}.path", value)
    for field in ("configMapGenerator", "secretGenerator"):
        for entry in _objects(body.get(field)):
            for key in ("files", "envs", "env"):
                for value in _texts(entry.get(key)):
                    # ``key=path`` names the key under which the file is stored.
                    path = value.partition("=")[2] if "=" in value else value
                    yield _Reference(f"{field}.{key}", path)


def _texts(value: object) -> list[str]:
    several = value if isinstance(value, list) else [value]
    return [text for text in several if isinstance(text, str) and text]


def _objects(value: object) -> list[json.JsonObject]:
    several = value if isinstance(value, list) else [value]
    return [element for element in several if isinstance(element, dict)]
