"""Makes the manifests of an application for one target.

The method is chosen as PipeCD does: a chart if one is named, else kustomize if there is
a kustomization in the effective directory, else plain files. Renderings are remembered
by the content they were made from, so targets without differences share one.
"""

import asyncio
import hashlib
import json
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from volary.concurrency import owner_slots, work_threads
from volary.config.crosscheck import fleet_checks
from volary.manifests import redaction
from volary.manifests.loading import documents, namespace_scopes
from volary.manifests.routes import generated_services
from volary.manifests.workloads import config_references
from volary.model import applications, errors, server_settings, work_limits
from volary.model.fleet import fleets
from volary.model.objects import manifest
from volary.model.placement import overrides
from volary.placement import cluster_manifests
from volary.placement.replicas import assignment
from volary.sources.decryption import opening
from volary.sources.rendering import (
    helm,
    kustomizations,
    kustomize,
    placeholders,
    plain_files,
    programs,
)
from volary.sources.trees import overlays, trees

_CACHED = 256
_FLAGGER = "flagger.app"
_KARMADA = "policy.karmada.io"


class Method(StrEnum):
    """How manifests were made."""

    PLAIN = "plain"
    KUSTOMIZE = "kustomize"
    HELM = "helm"


@dataclass(frozen=True, slots=True)
class Rendered:
    """The manifests of an application for one target, in load order, without tracking metadata."""

    manifests: tuple[manifest.Manifest, ...]
    method: Method
    #: Changes whenever one of the objects does; what a run is pinned to.
    digest: str


#: Takes an application's name and what came to light in it that nobody may see.
Learn = Callable[[str, Sequence[object]], None]


class Renderer:
    """Renders, and remembers; make one per process and share it.

    Args:
        settings: What renderings may use.
        learn: Is told of secret values before anything is made of them.
    """

    def __init__(
        self, settings: programs.Settings | None = None, learn: Learn = lambda _, __: None
    ) -> None:
        self._settings = settings or programs.Settings()
        self._learn = learn
        self._known: OrderedDict[Hashable, Rendered] = OrderedDict()
        self._busy: dict[Hashable, asyncio.Lock] = {}
        at_once = self._settings.at_once
        self._programs = owner_slots.OwnerSlots(at_once, max(1, at_once - 1))
        #: Those with other keys, by them.
        self._others: dict[server_settings.Secrets, Renderer] = {}
        #: How often something was really rendered, for measurements.
        self.renderings = 0

    def with_keys(self, secrets: server_settings.Secrets) -> "Renderer":
        """Return the renderer that opens secrets in Git with these keys, and with no others.

        It remembers by itself: what one may open is no answer for another. Programs are counted
        together.
        """
        if secrets not in self._others:
            keys = replace(self._settings.keys, settings=secrets)
            other = Renderer(replace(self._settings, keys=keys), self._learn)
            other._programs = self._programs
            self._others[secrets] = other
        return self._others[secrets]

    async def render(
        self,
        files: trees.Tree,
        described: applications.Application,
        *,
        directory: str,
        target: str,
        members: fleets.Fleet | None = None,
        assigned: assignment.Assignment | None = None,
    ) -> Rendered:
        """Return the manifests of the application in `directory` for `target`.

        What the application has different on its clusters (overrides, shares of the replicas)
        is worked in; `members` says what the clusters are, `assigned` who gets how many
        replicas where that was decided before.

        The namespace of the input is forced on them; a target's entry in
        ``multiTargets`` takes the place of the input's manifests, and of its kustomize
        options (replaced, not merged; PipeCD: Load).

        Raises:
            UserError: Something in the repository has to change: all problems of the
                step that failed. Also for two objects of one key, and for no object.
        """
        rendered = await self.undivided(files, described, directory=directory, target=target)
        if described.differences == overrides.Differences():
            return rendered
        return await work_threads.run(
            f"making the manifests of {directory or '.'} for {target}",
            _for_cluster,
            rendered,
            described,
            target,
            members,
            assigned,
        )

    async def undivided(
        self,
        files: trees.Tree,
        described: applications.Application,
        *,
        directory: str,
        target: str,
    ) -> Rendered:
        """Return the manifests for `target` before anything in them is made different.

        Raises:
            UserError: As `render` does.
        """
        wanted = _wanted(described, target)
        method, key = await work_threads.run(
            f"reading {directory or '.'}", _key, files, described, directory, wanted
        )
        lock = self._busy.setdefault(key, asyncio.Lock())
        try:
            async with lock:
                if key not in self._known:
                    made = await self._make(files, described, directory, method, wanted)
                    self._known[key] = made
                    while len(self._known) > _CACHED:
                        self._known.popitem(last=False)
                self._known.move_to_end(key)
                return self._known[key]
        finally:
            if not lock.locked():
                self._busy.pop(key, None)

    async def _make(
        self,
        files: trees.Tree,
        described: applications.Application,
        directory: str,
        method: Method,
        wanted: applications.TargetInput,
    ) -> Rendered:
        self.renderings += 1
        opened = await self._open(files, described, directory, method, wanted)
        try:
            return await self._of_opened(opened.files, described, directory, method, wanted)
        except errors.UserError as error:
            if not opened.values:
                raise
            # Not chained: the cause has what was taken out.
            raise opened.redacted(error) from None

    async def fill_in(
        self, files: trees.Tree, described: applications.Application, directory: str
    ) -> trees.Tree:
        """Return the files with PipeCD's targets (``encryption``, ``attachment``) filled in.

        Raises:
            errors.UserError: There is no key, or a target cannot be filled in.
        """
        filled_in = await opening.open_targets(files, described, directory, self._settings.keys)
        self._learn(described.name, filled_in.values)
        return filled_in.files

    async def _open(
        self,
        files: trees.Tree,
        described: applications.Application,
        directory: str,
        method: Method,
        wanted: applications.TargetInput,
    ) -> opening.OpenedTree:
        """Return the files with the secrets among them decrypted, in memory."""
        known = self._settings.keys
        filled_in = await opening.open_targets(files, described, directory, known)
        self._learn(described.name, filled_in.values)
        try:
            read = await work_threads.run(
                f"reading {directory or '.'}",
                _read_by,
                filled_in.files,
                described,
                directory,
                method,
                wanted,
            )
        except errors.UserError as error:
            raise filled_in.redacted(error) from None
        decrypted = await opening.open_files(filled_in.files, read, known)
        self._learn(described.name, decrypted.values)
        return replace(decrypted, values=(*filled_in.values, *decrypted.values))

    async def _of_opened(
        self,
        files: trees.Tree,
        described: applications.Application,
        directory: str,
        method: Method,
        wanted: applications.TargetInput,
    ) -> Rendered:
        manifests = await self._objects(files, described, directory, method, wanted)
        what = f"rendering {directory or '.'}"
        self._learn(described.name, await work_threads.run(what, _values_of_secrets, manifests))
        return await work_threads.run(what, _finish, manifests, described, directory, method)

    async def _objects(
        self,
        files: trees.Tree,
        described: applications.Application,
        directory: str,
        method: Method,
        wanted: applications.TargetInput,
    ) -> list[manifest.Manifest]:
        match method:
            case Method.PLAIN:
                return await work_threads.run(
                    f"rendering {directory or '.'}",
                    plain_files.read,
                    files,
                    directory,
                    wanted.manifests,
                    described.dialect,
                )
            case Method.KUSTOMIZE:
                return await self._kustomize(files, directory, wanted)
            case Method.HELM:
                return await self._helm(files, described, directory)

    async def _kustomize(
        self, files: trees.Tree, directory: str, wanted: applications.TargetInput
    ) -> list[manifest.Manifest]:
        built = kustomize.directory_of(directory, wanted.kustomize_dir)
        read = await work_threads.run(f"reading {built}", kustomizations.read, files, built)
        options = wanted.kustomize_options
        async with self._programs.slot(work_threads.current_owner()):
            return await kustomize.build(
                overlays.OverlaidTree(files, read.contents),
                built,
                read.parts,
                options,
                self._settings,
            )

    async def _helm(
        self, files: trees.Tree, described: applications.Application, directory: str
    ) -> list[manifest.Manifest]:
        named = described.input.helm_chart
        assert named is not None
        rendering = await work_threads.run(
            f"reading {named.path}", helm.prepare, files, directory, described, named.path
        )
        async with self._programs.slot(work_threads.current_owner()):
            return await helm.template(files, rendering, self._settings)


def _key(
    files: trees.Tree,
    described: applications.Application,
    directory: str,
    wanted: applications.TargetInput,
) -> tuple[Method, Hashable]:
    """Return how manifests are made, and what they are remembered by."""
    method = _method(files, described, directory, wanted)
    identity = files.identity(directory if method is Method.PLAIN else "")
    key = (identity, directory, described.name, method, repr(wanted), _of_file(described))
    return method, key


def _finish(
    manifests: list[manifest.Manifest],
    described: applications.Application,
    directory: str,
    method: Method,
) -> Rendered:
    """Return what was rendered as it is remembered, checked."""
    manifests = generated_services.add(_without_settings(manifests, described), described)
    if not manifests:
        raise errors.user_error(
            f"the application renders to no object at all ({method.value})",
            hint="an empty rendering is refused, it would look like deleting everything",
            where=errors.Location(directory or "."),
        )
    placeholders.refuse_in_objects(manifests, described.dialect)
    placeholders.refuse_ciphertexts(manifests)
    placed = namespace_scopes.force(manifests, described.input.namespace)
    documents.check_unique(placed)
    documents.refuse_own_records(placed)
    return Rendered(tuple(placed), method, _digest(placed))


def _wanted(described: applications.Application, target: str) -> applications.TargetInput:
    """Return what one target renders, after its entry in ``multiTargets``; without its name."""
    given = described.input
    anybody = applications.TargetInput(applications.TargetReference(""))
    entries = (entry for entry in given.multi_targets if entry.target.name == target)
    entry = next(entries, anybody)
    return replace(
        entry,
        target=anybody.target,
        manifests=entry.manifests or given.manifests,
        kustomize_options=entry.kustomize_options or given.kustomize_options,
    )


def _read_by(
    files: trees.Tree,
    described: applications.Application,
    directory: str,
    method: Method,
    wanted: applications.TargetInput,
) -> Sequence[str]:
    """Return the files and directories that a rendering reads."""
    if method is Method.PLAIN:
        return plain_files.paths_of(files, directory, wanted.manifests)
    if method is Method.KUSTOMIZE:
        built = kustomize.directory_of(directory, wanted.kustomize_dir)
        return kustomizations.read(files, built).parts
    named = described.input.helm_chart
    assert named is not None
    rendering = helm.prepare(files, directory, described, named.path)
    return rendering.parts


def _method(
    files: trees.Tree,
    described: applications.Application,
    directory: str,
    wanted: applications.TargetInput,
) -> Method:
    entry = trees.follow(files, directory)
    if entry is None or entry.kind is not trees.Kind.DIRECTORY:
        raise errors.user_error(
            "the application directory does not exist at this commit",
            where=errors.Location(directory),
        )
    if described.input.helm_chart is not None:
        return Method.HELM
    built = kustomize.directory_of(directory, wanted.kustomize_dir)
    if kustomizations.find(files, built):
        return Method.KUSTOMIZE
    if wanted.kustomize_dir:
        # Asked for by name: falling back to plain files would deploy something else.
        raise errors.user_error(
            f"kustomizeDir {wanted.kustomize_dir} has no kustomization",
            hint=f"one of {', '.join(kustomizations.NAMES)} is expected in it",
            where=errors.Location(built),
        )
    return Method.PLAIN


def _of_file(described: applications.Application) -> str:
    """Return everything of the application file that renderings depend on."""
    parts = (
        described.dialect,
        described.input,
        described.workloads,
        described.service,
        described.made_service,
        described.variant_label,
        described.traffic_routing,
        # Suffixes of Services that routes lead to.
        described.pipeline,
        described.encryption,
        described.attachment,
    )
    return repr(parts)


def _for_cluster(
    rendered: Rendered,
    described: applications.Application,
    target: str,
    members: fleets.Fleet | None,
    assigned: assignment.Assignment | None,
) -> Rendered:
    """Return the manifests as one cluster of the application's gets them."""
    clusters = fleet_checks.deployment_targets(described, members) if members else ()
    cluster = next((cluster for cluster in clusters if cluster.name == target), None)
    if cluster is None:
        raise errors.user_error(
            f"what {target} has different is not known: no fleet is known that it belongs to",
            hint="name the fleet: --fleet fleet.yaml",
        )
    manifests = cluster_manifests.apply(
        rendered.manifests, described.differences, cluster, clusters, assigned=assigned
    )
    documents.check_unique(manifests)
    documents.refuse_own_records(manifests)
    return Rendered(tuple(manifests), rendered.method, _digest(manifests))


def _without_settings(
    manifests: list[manifest.Manifest], described: applications.Application
) -> list[manifest.Manifest]:
    """Leave out what is read and not applied.

    A Canary and what belongs to it, where it is what describes the application: it would set
    Flagger to work on the same Deployment, if it is installed. Karmada's policies, but for
    PipeCD's files, which may well be there to bring them to Karmada.
    """
    left_out = set()
    if described.dialect is applications.Dialect.FLAGGER:
        left_out.add(_FLAGGER)
    if described.dialect is not applications.Dialect.PIPECD:
        left_out.add(_KARMADA)
    return [item for item in manifests if item.group not in left_out]


def _values_of_secrets(manifests: Sequence[manifest.Manifest]) -> list[str]:
    return [
        value
        for item in manifests
        if config_references.is_secret(item)
        for value in redaction.secret_values(item)
    ]


def _digest(manifests: list[manifest.Manifest]) -> str:
    """Return what changes with the objects.

    Raises:
        UserError: They are too large together.
    """
    # Object by object: what writes JSON holds up every thread until it is done.
    digest, size = hashlib.sha256(), 0
    for number, item in enumerate(manifests):
        text = json.dumps(item.body, sort_keys=True, separators=(",", ":")).encode()
        size += len(text)
        if size > work_limits.RENDERED_BYTES:
            limit = work_limits.RENDERED_BYTES // 2**20
            raise errors.user_error(
                f"the manifests are too large: with {item.key.title} they are more than {limit}"
                " MiB, which is the most",
                hint="split the application into several",
                where=item.origin,
            )
        digest.update(b"[" if number == 0 else b",")
        digest.update(text)
    digest.update(b"]")
    return digest.hexdigest()
