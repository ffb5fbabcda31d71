"""What a run renders: the new commit, and the commits that run, each by its own description."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from volary.concurrency import work_threads
from volary.config.application import application_files
from volary.config.crosscheck import lint
from volary.controller.planning import projects, run_renderer
from volary.model import applications
from volary.sources import application_discovery
from volary.sources.trees import trees


def of(project: projects.Project) -> run_renderer.RunSource:
    """Return the source of the commit that is released."""
    return run_renderer.RunSource(
        project.commit, project.files, project.application, project.directory
    )


async def of_running(
    project: projects.Project, commits: Iterable[str]
) -> Mapping[str, run_renderer.RunSource]:
    """Return the running sources by commit; the new commit's own side stays as it is."""
    wanted = dict.fromkeys(commit for commit in commits if commit and commit != project.commit)
    return {commit: await _described(project, commit) for commit in wanted}


async def _described(project: projects.Project, commit: str) -> run_renderer.RunSource:
    """Return the running source, described by its own application file where it has one."""
    files = await projects.at_commit(project, commit)
    described = await work_threads.run(
        f"reading {project.directory or '.'} at {commit[:7]}", _read, project, files
    )
    return run_renderer.RunSource(commit, files, described, project.directory)


def _read(project: projects.Project, files: trees.Tree) -> applications.Application:
    """Return the application as its own file of another commit says, else as the new one does."""
    path = _description(project, files)
    if not path:
        return project.application
    text = files.read(path).decode("utf-8", errors="replace")
    beside = application_discovery.sibling_files(files, path)
    loaded = application_files.parse(
        text, file=path, default_name=lint.default_name(path), neighbours=beside
    )
    if loaded.application is None:
        return project.application
    named = replace(loaded.application, name=project.application.name)
    return projects.aim_at(named, project.selector)


def _description(project: projects.Project, files: trees.Tree) -> str:
    """Return the application file of another commit; empty when it has none.

    It may have been another one: a Canary that was converted since, for instance.
    """
    path = project.loaded.document.file if project.loaded.document else ""
    entry = files.entry(path) if path else None
    if entry is not None and entry.kind is trees.Kind.FILE:
        return path
    directory = files.entry(project.directory) if project.directory else None
    if project.directory and (directory is None or directory.kind is not trees.Kind.DIRECTORY):
        return ""
    return application_discovery.in_directory(files, project.directory)
