"""What a run renders: the new commit, and the commits that run, each by its own description."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from volary.concurrency import work_threads
from volary.config.application import application_files
from volary.controller.planning import opened_applications, run_renderer
from volary.model import applications
from volary.sources import application_discovery
from volary.sources.trees import trees


def of(opened: opened_applications.OpenedApplication) -> run_renderer.RunSource:
    """Return the source of the commit that is released."""
    return run_renderer.RunSource(opened.commit, opened.files, opened.application, opened.directory)


async def of_running(
    opened: opened_applications.OpenedApplication, commits: Iterable[str]
) -> Mapping[str, run_renderer.RunSource]:
    """Return the running sources by commit; the new commit's own side stays as it is."""
    wanted = dict.fromkeys(commit for commit in commits if commit and commit != opened.commit)
    return {commit: await _described(opened, commit) for commit in wanted}


async def _described(
    opened: opened_applications.OpenedApplication, commit: str
) -> run_renderer.RunSource:
    """Return the running source, described by its own application file where it has one."""
    files = await opened_applications.at_commit(opened, commit)
    described = await work_threads.run(
        f"reading {opened.directory or '.'} at {commit[:7]}", _read, opened, files
    )
    return run_renderer.RunSource(commit, files, described, opened.directory)


def _read(
    opened: opened_applications.OpenedApplication, files: trees.Tree
) -> applications.Application:
    """Return the application as its own file of another commit says, else as the new one does."""
    path = _description(opened, files)
    if not path:
        return opened.application
    text = files.read(path).decode("utf-8", errors="replace")
    beside = application_discovery.sibling_files(files, path)
    loaded = application_files.parse(
        text, file=path, default_name=application_files.default_name(path), neighbours=beside
    )
    if loaded.application is None:
        return opened.application
    named = replace(loaded.application, name=opened.application.name)
    return opened_applications.aim_at(named, opened.selector)


def _description(opened: opened_applications.OpenedApplication, files: trees.Tree) -> str:
    """Return the application file of another commit; empty when it has none.

    It may have been another one: a Canary that was converted since, for instance.
    """
    path = opened.loaded.document.file if opened.loaded.document else ""
    entry = files.entry(path) if path else None
    if entry is not None and entry.kind is trees.Kind.FILE:
        return path
    directory = files.entry(opened.directory) if opened.directory else None
    if opened.directory and (directory is None or directory.kind is not trees.Kind.DIRECTORY):
        return ""
    return application_discovery.in_directory(files, opened.directory)
