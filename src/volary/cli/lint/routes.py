"""What ``volary lint`` says of the objects that carry the routes, as far as plain files show it.

A run refuses to begin when its router cannot do what the stages need: the HTTPRoute, the
VirtualService or the TrafficSplit is missing, `editableRoutes` names a route that it does not
have, no rule leads to the application. The same questions are asked here, of the manifests
that are plain files; what kustomize or Helm would build is not known before it is built.
"""

import asyncio
import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from volary.cli.lint import manifest_checks
from volary.config.application import application_files
from volary.model import applications, errors
from volary.model.objects import manifest
from volary.model.pipeline.stage_kinds import rollout_stages
from volary.sources.rendering import programs, renderers
from volary.sources.trees import directories
from volary.stages import registry
from volary.stages.kinds import primary_rollout
from volary.stages.runtime import stage_runners


def findings(root: str, loaded: manifest_checks.LoadedFiles) -> Iterator[errors.Problem]:
    """Yield why the stages of an application could not move its traffic.

    Applications are passed over whose manifests differ by cluster: what a cluster gets may
    have what the files lack.
    """
    for path, loaded_file in loaded.items():
        described = loaded_file.application
        if described is None or described.differences.rules or described.input.multi_targets:
            continue
        place = posixpath.dirname(path)
        if manifest_checks.plain_manifests(described, root, place):
            yield from _of(loaded_file, described, root, place)


def _of(
    loaded: application_files.Loaded, described: applications.Application, root: str, place: str
) -> Iterator[errors.Problem]:
    problems: list[errors.Problem] = []
    manifests = _made(described, root, place)
    for stage in described.pipeline if manifests else ():
        try:
            registry.check_traffic(stage, stage_runners.Sources(described, manifests))
        except errors.UserError as error:
            problems += error.problems
    # The first release is a sync; what the next ones ask for is asked for at once.
    asked = [described.quick_sync, *(stage.options for stage in described.pipeline)]
    for options in asked if manifests else ():
        if isinstance(options, rollout_stages.SyncOptions | rollout_stages.PrimaryRolloutOptions):
            try:
                primary_rollout.plan(stage_runners.Sources(described, manifests), options)
            except errors.UserError as error:
                problems += error.problems
    prefix = f"{place}/" if place else ""
    for problem in dict.fromkeys(problems):
        if problem.where.file:
            where = replace(problem.where, file=f"{prefix}{problem.where.file}")
        else:
            where = _setting(loaded)
        yield replace(problem, where=where)


def _made(
    described: applications.Application, root: str, place: str
) -> Sequence[manifest.Manifest]:
    """Return what a run would begin with: the files, and the objects that are made to them."""
    renderer = renderers.Renderer(programs.Settings(tools={}))
    files = directories.DirectoryTree(Path(root, place))
    try:
        made = asyncio.run(renderer.undivided(files, described, directory="", target=""))
    except errors.UserError:
        return ()
    return made.manifests


def _setting(loaded: application_files.Loaded) -> errors.Location:
    if loaded.document is None:
        return errors.NOWHERE
    return loaded.document.where((*loaded.base, "trafficRouting"))
