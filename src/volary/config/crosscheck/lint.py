"""Checks all files of a tree that Volary reads at once (``volary lint``)."""

import posixpath
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from volary.config.application import application_files
from volary.config.crosscheck import fleet_checks
from volary.config.dialects.karmada import recognition as karmada
from volary.config.fleet import fleet_files
from volary.config.projects import definitions, project_files
from volary.config.server import settings_files
from volary.config.stages import analysis_templates
from volary.model import errors, metric_providers
from volary.model.fleet import fleets

_OURS = re.compile(r"^apiVersion\s*:\s*[\"']?volary\.dev/", re.MULTILINE)


def check(
    files: Mapping[str, str], clusters: fleets.Fleet | None = None, *, anchored: bool = False
) -> tuple[errors.Problem, ...]:
    """Return every problem, sorted by file and line.

    Args:
        files: Text by path, with forward slashes; files that are neither application
            nor fleet files by their name are passed over, but for fleets, settings of a
            server, projects and workspaces by their kind, and Canaries and Karmada's policies in
            directories without an application file.
        clusters: The fleet to compare applications with; None: only the files.
        anchored: The paths start at the root of the repository, so that paths leading
            out of it can be told.
    """
    problems: list[errors.Problem] = []
    described = {
        path: _load(path, files, directory=posixpath.dirname(path) if anchored else None)
        for path in _application_files(files)
    }
    providers = _providers(files)
    for path, text in files.items():
        if path in described:
            problems += _application(described[path], clusters, providers)
        elif _is_fleet(path, text):
            problems += fleet_files.parse(text, file=path).problems
        elif _is_of_kind("Controller", text):
            problems += settings_files.parse(text, file=path).problems
    problems += _definitions({path: files[path] for path in files if path not in described})
    problems += _same_names(described)
    problems += [
        problem for problem in analysis_templates.load(files).problems if problem not in problems
    ]
    return tuple(sorted(problems, key=_position))


def is_checked(path: str, files: Mapping[str, str]) -> bool:
    """Say whether `check` has anything to say about a file."""
    text = files[path]
    is_own = _is_fleet(path, text) or _is_of_kind("Controller", text) or has_definitions(text)
    return is_own or path in _application_files(files) or analysis_templates.is_template_path(path)


def has_definitions(text: str) -> bool:
    """Say whether a file has projects or what else stands in their files, by a quick check."""
    return any(_is_of_kind(kind.name, text) for kind in project_files.KINDS)


def _definitions(files: Mapping[str, str]) -> tuple[errors.Problem, ...]:
    """Return what is wrong with projects and workspaces, which are read together.

    Without any project among them those of workspaces are elsewhere.
    """
    found = [
        project_files.TextFile(path, text)
        for path, text in files.items()
        if has_definitions(text) and not _is_fleet(path, text)
    ]
    are_part = not any(_is_of_kind(project_files.PROJECT.name, file.text) for file in found)
    return project_files.parse(found, definitions.Surroundings(are_part=are_part)).problems


def _is_fleet(path: str, text: str) -> bool:
    return fleet_files.is_file_name(path) or _is_of_kind("Fleet", text)


def _is_of_kind(kind: str, text: str) -> bool:
    """Say whether a file is of one of our kinds, by a quick check of its text."""
    match = re.search(rf"^kind\s*:\s*[\"']?{kind}\b", text, re.MULTILINE)
    return match is not None and _OURS.search(text) is not None


def _application_files(files: Mapping[str, str]) -> list[str]:
    named = {path for path in files if application_files.is_file_name(path)}
    paths = {*named, *_by_content(files, named, application_files.is_canary)}
    first: dict[str, str] = {}
    for path in sorted(_by_content(files, paths, karmada.has_propagation_policy)):
        above, last = posixpath.split(posixpath.dirname(path))
        belongs = last == karmada.DIRECTORY and above in map(posixpath.dirname, paths)
        if not belongs:
            first.setdefault(posixpath.dirname(path), path)
    return sorted({*paths, *first.values()})


def _by_content(
    files: Mapping[str, str], described: Iterable[str], is_meant: Callable[[str], bool]
) -> list[str]:
    """Return files known by their text, in directories without one of `described`."""
    directories = set(map(posixpath.dirname, described))
    return [
        path
        for path, text in files.items()
        if application_files.is_yaml_name(path)
        and posixpath.dirname(path) not in directories
        and is_meant(text)
    ]


def _providers(files: Mapping[str, str]) -> tuple[metric_providers.Provider, ...]:
    """Return the providers of the tree's fleet file; none when there is not just one."""
    named = [path for path in files if fleet_files.is_file_name(path)]
    fleet = fleet_files.parse(files[named[0]], file=named[0]).value if len(named) == 1 else None
    return fleet.providers if fleet else ()


def _application(
    loaded: application_files.Loaded,
    clusters: fleets.Fleet | None,
    providers: Sequence[metric_providers.Provider],
) -> tuple[errors.Problem, ...]:
    if loaded.application is None:
        return loaded.problems
    if clusters is None:
        told = fleet_checks.against_providers(
            loaded.application, providers, document=loaded.document
        )
        return (*loaded.problems, *told)
    compared = fleet_checks.against_fleet(
        loaded.application, clusters, document=loaded.document, base=loaded.base
    )
    return (*loaded.problems, *compared)


def load_applications(files: Mapping[str, str]) -> Mapping[str, application_files.Loaded]:
    """Return the application files among `files`, read as `check` reads them, by path."""
    return {path: _load(path, files, directory=None) for path in _application_files(files)}


def _same_names(described: Mapping[str, application_files.Loaded]) -> list[errors.Problem]:
    """Two of one name, directory and namespace would be one to the clusters."""
    first: dict[tuple[str, str, str], str] = {}
    problems: list[errors.Problem] = []
    for path, loaded in described.items():
        if loaded.application is None:
            continue
        name = loaded.application.name
        known = first.setdefault(
            (name, posixpath.dirname(path), loaded.application.input.namespace), path
        )
        if known != path:
            message = f"the application {name} is also described by {known}"
            hint = "give one of them another name, or put it into a directory of its own"
            problems.append(errors.Problem(message, errors.Location(path), hint))
    return problems


def _load(
    path: str, files: Mapping[str, str], *, directory: str | None
) -> application_files.Loaded:
    own = posixpath.dirname(path)
    beside = {
        neighbour: text
        for neighbour, text in files.items()
        if analysis_templates.is_template_path(neighbour)
        or (
            neighbour != path
            and not application_files.is_file_name(neighbour)
            and posixpath.dirname(neighbour) in (own, posixpath.join(own, karmada.DIRECTORY))
            and application_files.is_yaml_name(neighbour)
        )
    }
    return application_files.parse(
        files[path],
        file=path,
        default_name=application_files.default_name(path),
        directory=directory,
        neighbours=beside,
    )


def _position(problem: errors.Problem) -> tuple[str, int, str, str]:
    return problem.where.file, problem.where.line, problem.where.path, problem.message
