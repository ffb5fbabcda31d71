"""Checks all application and fleet files of a tree at once (``volary lint``)."""

import posixpath
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from volary.config import application, controller, crosscheck, fleet, templates
from volary.config.dialects.karmada import policies
from volary.model import fleet as fleets
from volary.model import problem, provider

_OURS = re.compile(r"^apiVersion\s*:\s*[\"']?volary\.dev/", re.MULTILINE)


def check(
    files: Mapping[str, str], clusters: fleets.Fleet | None = None, *, anchored: bool = False
) -> tuple[problem.Problem, ...]:
    """Return every problem, sorted by file and line.

    Args:
        files: Text by path, with forward slashes; files that are neither application
            nor fleet files by their name are passed over, but for fleets and settings of a
            server by their kind, and Canaries and Karmada's policies in directories without
            an application file.
        clusters: The fleet to compare applications with; None: only the files.
        anchored: The paths start at the root of the repository, so that paths leading
            out of it can be told.
    """
    found: list[problem.Problem] = []
    described = _described(files)
    providers = _providers(files)
    for path, text in files.items():
        if path in described:
            found += _application(path, files, clusters, providers, anchored=anchored)
        elif _is_fleet(path, text):
            found += fleet.parse(text, file=path).problems
        elif _is_of_kind("Controller", text):
            found += controller.parse(text, file=path).problems
    found += _same_names(files)
    found += [each for each in templates.load(files).problems if each not in found]
    return tuple(sorted(found, key=_position))


def looks_at(path: str, files: Mapping[str, str]) -> bool:
    """Say whether `check` has anything to say about a file."""
    is_own = _is_fleet(path, files[path]) or _is_of_kind("Controller", files[path])
    return is_own or path in _described(files) or templates.is_template_path(path)


def _is_fleet(path: str, text: str) -> bool:
    return fleet.is_file_name(path) or _is_of_kind("Fleet", text)


def _is_of_kind(kind: str, text: str) -> bool:
    """Say whether a file is of one of our kinds, at a glance."""
    found = re.search(rf"^kind\s*:\s*[\"']?{kind}\b", text, re.MULTILINE)
    return found is not None and _OURS.search(text) is not None


def _described(files: Mapping[str, str]) -> list[str]:
    """Return the paths of the application files, in order."""
    named = {path for path in files if application.is_file_name(path)}
    found = {*named, *_unnamed(files, named, application.is_canary)}
    first: dict[str, str] = {}
    for path in sorted(_unnamed(files, found, policies.places)):
        above, last = posixpath.split(posixpath.dirname(path))
        belongs = last == policies.DIRECTORY and above in map(posixpath.dirname, found)
        if not belongs:
            first.setdefault(posixpath.dirname(path), path)
    return sorted({*found, *first.values()})


def _unnamed(
    files: Mapping[str, str], described: Iterable[str], is_meant: Callable[[str], bool]
) -> list[str]:
    """Return files known by their text, in directories without one of `described`."""
    directories = set(map(posixpath.dirname, described))
    return [
        path
        for path, text in files.items()
        if application.is_yaml_name(path)
        and posixpath.dirname(path) not in directories
        and is_meant(text)
    ]


def _providers(files: Mapping[str, str]) -> tuple[provider.Provider, ...]:
    """Return the providers of the tree's fleet file; none when there is not just one."""
    named = [path for path in files if fleet.is_file_name(path)]
    found = fleet.parse(files[named[0]], file=named[0]).fleet if len(named) == 1 else None
    return found.providers if found else ()


def _application(
    path: str,
    files: Mapping[str, str],
    clusters: fleets.Fleet | None,
    providers: Sequence[provider.Provider],
    *,
    anchored: bool,
) -> tuple[problem.Problem, ...]:
    loaded = _load(path, files, directory=posixpath.dirname(path) if anchored else None)
    if loaded.application is None:
        return loaded.problems
    if clusters is None:
        told = crosscheck.against_providers(loaded.application, providers, document=loaded.document)
        return (*loaded.problems, *told)
    compared = crosscheck.against_fleet(
        loaded.application, clusters, document=loaded.document, base=loaded.base
    )
    return (*loaded.problems, *compared)


def loaded(files: Mapping[str, str]) -> Mapping[str, application.Loaded]:
    """Return the application files among `files`, read as `check` reads them, by path."""
    return {path: _load(path, files, directory=None) for path in _described(files)}


def _same_names(files: Mapping[str, str]) -> list[problem.Problem]:
    """Two applications with one name would prune each other's objects."""
    first: dict[str, str] = {}
    found: list[problem.Problem] = []
    for path in _described(files):
        loaded = _load(path, files, directory=None)
        if loaded.application is None:
            continue
        name = loaded.application.name
        if name in first:
            message = f"the application {name} is also described by {first[name]}"
            hint = "give each application its own name"
            found.append(problem.Problem(message, problem.Location(path), hint))
        first.setdefault(name, path)
    return found


def _load(path: str, files: Mapping[str, str], *, directory: str | None) -> application.Loaded:
    own = posixpath.dirname(path)
    beside = {
        each: text
        for each, text in files.items()
        if templates.is_template_path(each)
        or (
            each != path
            and not application.is_file_name(each)
            and posixpath.dirname(each) in (own, posixpath.join(own, policies.DIRECTORY))
            and application.is_yaml_name(each)
        )
    }
    return application.parse(
        files[path],
        file=path,
        default_name=default_name(path),
        directory=directory,
        neighbours=beside,
    )


def default_name(path: str) -> str:
    """Return the name an application gets from the place of its file: its directory's name."""
    return posixpath.basename(posixpath.dirname(path)) or "application"


def _position(each: problem.Problem) -> tuple[str, int, str, str]:
    return each.where.file, each.where.line, each.where.path, each.message
