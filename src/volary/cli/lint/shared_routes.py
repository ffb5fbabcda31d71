"""Routes and cookies that two applications of one directory would take from each other.

A run refuses to move traffic by a route that is another application's. Where both applications
are in the files at hand that can be said before: their manifests are read as a run would, but
for those that a program would have to build (kustomize, Helm).
"""

import asyncio
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from volary.cli.lint import manifest_checks
from volary.config.crosscheck import fleet_checks
from volary.manifests import objects
from volary.model import applications, errors
from volary.model.fleet import fleets
from volary.model.objects import manifest
from volary.model.pipeline import traffic
from volary.sources.rendering import kustomizations, programs, renderers
from volary.sources.trees import directories, trees
from volary.stages.traffic.routers import registry

#: More applications than this are not compared.
_MOST = 2000


@dataclass(frozen=True, slots=True)
class _MovedRoute:
    """A route whose traffic an application moves."""

    file: str
    application: applications.Application
    route: manifest.Manifest
    #: None: it is not known which clusters there are.
    clusters: frozenset[str] | None


def check(
    root: str, loaded: manifest_checks.LoadedFiles, members: fleets.Fleet | None
) -> tuple[errors.Problem, ...]:
    """Return a problem for every route and every cookie that two applications share.

    Applications with errors are passed over: those are reported by other checks.
    """
    files = directories.DirectoryTree(Path(root))
    chosen = {
        file: loaded_file.application
        for file, loaded_file in list(loaded.items())[:_MOST]
        if loaded_file.application is not None
        and _moves_traffic(files, posixpath.dirname(file), loaded_file.application)
    }
    if len(chosen) < 2:
        return ()
    return asyncio.run(_check(files, chosen, members))


def _moves_traffic(files: trees.Tree, directory: str, app: applications.Application) -> bool:
    """Say whether an application moves traffic and its manifests are plain files."""
    if not any(stage.kind.routes_traffic for stage in app.pipeline):
        return False
    return app.input.helm_chart is None and not kustomizations.find(files, directory)


async def _check(
    files: trees.Tree,
    chosen: Mapping[str, applications.Application],
    members: fleets.Fleet | None,
) -> tuple[errors.Problem, ...]:
    renderer = renderers.Renderer(programs.Settings(tools={}))
    moved = [
        moved_route
        for file, app in chosen.items()
        if (moved_route := await _moved_route(files, renderer, file, app, members)) is not None
    ]
    return tuple(_problems(moved))


async def _moved_route(
    files: trees.Tree,
    renderer: renderers.Renderer,
    file: str,
    app: applications.Application,
    members: fleets.Fleet | None,
) -> _MovedRoute | None:
    names = (
        [cluster.name for cluster in fleet_checks.deployment_targets(app, members)]
        if members
        else []
    )
    target = next(
        iter([*names, *(multi_target.target.name for multi_target in app.input.multi_targets)]), ""
    )
    try:
        rendered = await renderer.undivided(
            files, app, directory=posixpath.dirname(file), target=target
        )
        route = registry.choose(app).find(rendered.manifests)
    except errors.UserError:
        return None
    known = frozenset(names) if members else frozenset(app.targets.names) or None
    return _MovedRoute(file, app, route, known)


def _problems(moved: Sequence[_MovedRoute]) -> Iterator[errors.Problem]:
    for i, later in enumerate(moved):
        for earlier in moved[:i]:
            if not _may_share_cluster(earlier, later):
                continue
            if earlier.route.key == later.route.key:
                yield _shared(earlier, later)
                continue
            for name, host in _cookies(earlier, later):
                yield _cookie_clash(earlier, later, name, host)


def _shared(earlier: _MovedRoute, later: _MovedRoute) -> errors.Problem:
    route = later.route
    title = f"{route.kind} {route.name}"
    where = f" ({route.origin.file})" if route.origin.file else ""
    message = (
        f"{later.application.name} moves traffic by {title}{where}, and so does"
        f" {earlier.application.name} ({earlier.file}): each would undo the other's weights"
    )
    hint = "a route can be shared, but one application alone can move its traffic: split it"
    return errors.Problem(message, errors.Location(later.file), hint)


def _cookie_clash(earlier: _MovedRoute, later: _MovedRoute, name: str, host: str) -> errors.Problem:
    message = (
        f"the cookie {name} of {later.application.name} is also given by"
        f" {earlier.application.name} ({earlier.file}) at {host}: who uses both stays with neither"
    )
    hint = "name the cookies after the applications, or give them different paths"
    return errors.Problem(
        message, errors.Location(later.file), hint, severity=errors.Severity.WARNING
    )


def _may_share_cluster(one: _MovedRoute, other: _MovedRoute) -> bool:
    """Say whether both are on one cluster, in one namespace.

    Without a fleet and without a namespace nobody knows: a folder of examples is no fleet.
    """
    known = one.clusters is not None and other.clusters is not None
    if not known and not (one.route.namespace and other.route.namespace):
        return False
    if one.clusters is not None and other.clusters is not None:
        return bool(one.clusters & other.clusters)
    mine, theirs = one.application.targets.match_labels, other.application.targets.match_labels
    return not any(mine[key] != theirs[key] for key in mine.keys() & theirs.keys())


def _cookies(one: _MovedRoute, other: _MovedRoute) -> Iterator[tuple[str, str]]:
    """Yield the names of cookies that both give at one host and path, with the host."""
    for mine in _affinities(one.application):
        for theirs in _affinities(other.application):
            if mine.path.rstrip("/") != theirs.path.rstrip("/"):
                continue
            shared = sorted(_names(mine) & _names(theirs))
            hosts = sorted(_hosts(one.route) & _hosts(other.route))
            domain = mine.domain if mine.domain == theirs.domain else ""
            for name in shared:
                if place := domain or next(iter(hosts), ""):
                    yield name, place


def _affinities(app: applications.Application) -> list[traffic.SessionAffinity]:
    affinities = [getattr(stage.options, "session_affinity", None) for stage in app.pipeline]
    return list(dict.fromkeys(affinity for affinity in affinities if affinity is not None))


def _names(affinity: traffic.SessionAffinity) -> set[str]:
    return {affinity.cookie_name, affinity.primary_cookie_name} - {""}


def _hosts(route: manifest.Manifest) -> set[str]:
    """Return the hosts that browsers may use; inside of a mesh nobody keeps cookies of others."""
    hosts = {*objects.sequence(route.body, "spec", "hostnames")}
    hosts |= {*objects.sequence(route.body, "spec", "hosts")}
    return {host for host in hosts if isinstance(host, str) and "." in host}
