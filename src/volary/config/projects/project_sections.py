"""``kind: Project``: its fields, and what is wrong with them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from pydantic import Field

from volary.config.decoding import base_sections, file_paths, readings
from volary.config.placement import change_windows, wave_rules
from volary.config.projects import definitions
from volary.config.server import notification_routes, settings_files
from volary.config.text import globs, yaml
from volary.model import options, project_identities, projects
from volary.model.pipeline.stage_kinds import catalog


class ProjectSpec(base_sections.Section, of=projects.Project):
    """What the applications of one team may do."""

    stages: list[options.Text] | None = options.option(
        "The stages that its pipelines may have, by name. Left out: all.", None
    )
    windows: change_windows.Windows = Field(
        default_factory=change_windows.Windows,
        description="When clusters may be changed, and when they may not, besides what each "
        "application says.",
    )


class ProjectFile(base_sections.Section):
    """One project."""

    api_version: Literal["volary.dev/v1"] = Field(description="Version of the format.")
    kind: Literal["Project"] = Field(description="What the document describes.")
    metadata: definitions.Metadata = Field(description="What the project is called.")
    spec: ProjectSpec = Field(description="What the applications of the project may do.")


_SPEC: yaml.Path = ("spec",)


def convert(
    reading: readings.Reading, surroundings: definitions.Surroundings
) -> projects.Project | None:
    """Return the project of a document; None when it has errors, noted then."""
    read = reading.read(ProjectFile, reading.document.value, ())
    if read is None:
        return None
    spec, name = read.spec, read.metadata.name
    if name == projects.DEFAULT:
        message = f"{name} is what applications belong to as long as there is no project"
        reading.error(("metadata", "name"), message, "give it another name")
    project = base_sections.value_of(
        projects.Project,
        spec,
        name=name,
        stages=_stages(reading, spec.stages),
        windows=change_windows.convert(reading, spec.windows),
    )
    _check_sources(reading, project.sources, surroundings)
    _check_destinations(reading, project.destinations)
    _check_kinds(reading, project.kinds)
    for i, route in enumerate(project.routes):
        at = (*_SPEC, "routes", i)
        notification_routes.check_route(reading, route, surroundings.receivers, at)
    for i, role in enumerate(project.roles):
        _check_role(reading, role, (*_SPEC, "roles", i))
    for fault in project_identities.faults(project):
        reading.error((*_SPEC, *fault.path), fault.message, fault.hint)
    _check_files(reading, project, surroundings)
    if project.secrets is not None:
        settings_files.check_secrets(reading, project.secrets, (*_SPEC, "secrets"))
    return replace(
        project,
        credentials=file_paths.resolved(project.credentials, surroundings.directory),
        secrets=file_paths.resolved(project.secrets, surroundings.directory),
    )


def _stages(reading: readings.Reading, given: list[str] | None) -> tuple[str, ...] | None:
    """Return stages as they are called everywhere else."""
    if given is None:
        return None
    forms = {form: kind.name for kind in catalog.listed() for form in kind.forms}
    for i, name in enumerate(given):
        if name not in forms:
            at = (*_SPEC, "stages", i)
            reading.error(at, f"unknown stage {name[:80]}", readings.did_you_mean(name, forms))
    return tuple(dict.fromkeys(forms[name] for name in given if name in forms))


def _check_sources(
    reading: readings.Reading,
    sources: Sequence[projects.Source],
    surroundings: definitions.Surroundings,
) -> None:
    if not sources:
        reading.error((*_SPEC, "sources"), "no application file belongs to it", "name a repository")
    for i, source in enumerate(sources):
        at: yaml.Path = (*_SPEC, "sources", i)
        _check_glob(reading, source.repository, (*at, "repository"))
        if surroundings.repositories is not None and not any(
            not globs.check(source.repository) and globs.matches([source.repository], name)
            for name in surroundings.repositories
        ):
            hint = readings.did_you_mean(source.repository, surroundings.repositories)
            message = f"no repository of the settings is called {source.repository}"
            reading.warn((*at, "repository"), message, hint)
        file_paths.check_patterns(reading, source.paths, (*at, "paths"))
        file_paths.check_patterns(reading, source.branches, (*at, "branches"))
        for place, path in enumerate(source.paths):
            if path.removeprefix("!").startswith(("/", "../")) or path == "..":
                hint = "write it relative to the root of the repository"
                reading.error((*at, "paths", place), f"{path} leaves the repository", hint)


def _check_destinations(
    reading: readings.Reading, destinations: Sequence[projects.Destination]
) -> None:
    if not destinations:
        message = "it has nowhere to deploy to"
        reading.error((*_SPEC, "destinations"), message, "name clusters and namespaces")
    for i, destination in enumerate(destinations):
        at: yaml.Path = (*_SPEC, "destinations", i)
        wave_rules.check_targets(reading, destination.clusters, (*at, "clusters"))
        if not destination.namespaces:
            hint = "name namespaces, or '*' for all"
            reading.error((*at, "namespaces"), "no namespace is named", hint)
        for place, namespace in enumerate(destination.namespaces):
            _check_glob(reading, namespace, (*at, "namespaces", place))


def _check_kinds(reading: readings.Reading, kinds: projects.Kinds) -> None:
    for key, patterns in (
        ("namespaced", kinds.namespaced),
        ("clusterScoped", kinds.cluster_scoped),
        ("denied", kinds.denied),
    ):
        for i, pattern in enumerate(patterns):
            at: yaml.Path = (*_SPEC, "kinds", key, i)
            _check_glob(reading, pattern.kind, (*at, "kind"))
            if pattern.group:
                _check_glob(reading, pattern.group, (*at, "group"))
            if "/" in pattern.group:
                group = pattern.group.partition("/")[0]
                reading.error((*at, "group"), "is a group and a version", f"write {group}")


def _check_glob(reading: readings.Reading, pattern: str, at: yaml.Path) -> None:
    """Note what is wrong with a pattern that permits something."""
    if pattern.strip().startswith("!"):
        hint = "write what is permitted"
        reading.error(at, f"{pattern[:80]} would permit nothing", hint)
    elif wrong := globs.check(pattern):
        reading.error(at, wrong)


def _check_role(reading: readings.Reading, role: projects.ProjectRole, at: yaml.Path) -> None:
    if not role.groups and not role.subjects:
        reading.error(at, "nobody has this role", "name groups or subjects")
    for i, subject in enumerate(role.subjects):
        settings_files.check_subject(reading, subject, (*at, "subjects", i))


def _check_files(
    reading: readings.Reading, project: projects.Project, surroundings: definitions.Surroundings
) -> None:
    """Note files of this machine that are named by somebody who has no say about it."""
    if not surroundings.are_in_git:
        return
    for key, given in (("credentials", project.credentials), ("secrets", project.secrets)):
        if given is not None:
            message = f"{key} names files of the server, which a repository may not"
            hint = "write this project into a file that the settings name (projects.files)"
            reading.error((*_SPEC, key), message, hint)
