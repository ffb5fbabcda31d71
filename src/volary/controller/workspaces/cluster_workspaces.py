"""Keeps one workspace on one cluster as it is written.

Each namespace by itself: what is wrong with one does not hold up the others. Written is what
differs, whoever changed it; what a workspace does not name stays as it is. A namespace that was
there before belongs to somebody, so it is taken only where the workspace says so.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from volary.clusters.api import api_errors
from volary.clusters.apply import applier, apply_errors, deletions
from volary.clusters.client import clients, resource_mapping
from volary.clusters.inventory import inventory, owned_objects
from volary.manifests import objects
from volary.manifests.ownership import claims, prune_decisions, tracking
from volary.model import errors, json, phrases, workspaces
from volary.model.objects import apply_results, ownership
from volary.tenancy import workspace_manifests

#: How long what was deleted may take to go.
_GONE = timedelta(seconds=10)
#: Sentences that are shown of several.
_SHOWN = 3
#: What others set on a namespace stays; of the rest, what others set on purpose goes.
_LABELS_STAY = ownership.Conflicts(ownership.ConflictPolicy.REFUSE)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of keeping a workspace on a cluster."""

    #: Why it is not as it is written; empty: it is.
    reason: str = ""
    #: The cluster answered, and refused.
    is_refused: bool = False
    #: Namespaces that are the workspace's there.
    namespaces: tuple[str, ...] = ()
    #: What was written or deleted.
    changes: tuple[apply_results.Change, ...] = ()


@dataclass(frozen=True, slots=True)
class _Kept:
    """What came of one namespace."""

    problem: errors.VolaryError | None
    is_ours: bool = False
    changes: tuple[apply_results.Change, ...] = ()


async def keep(
    client: clients.Client, workspace: workspaces.Workspace, *, allowed: Sequence[str] = ()
) -> Outcome:
    """Bring a workspace on a cluster to what is written; nothing is written where it is so.

    Objects of it in its namespaces that are not written any more are deleted, so that access that
    was taken away ends. Namespaces are never deleted here. `allowed` are those that Volary may
    work in; empty: all.
    """
    parts = workspace_manifests.render(workspace)
    options = applier.Options(owner=workspace.owner, force=True, namespaces=tuple(allowed))
    kept = [await _keep_namespace(client, part, options, workspace.owner) for part in parts]
    ours = [part.namespace.name for part, result in zip(parts, kept, strict=True) if result.is_ours]
    changes = [change for result in kept for change in result.changes]
    problems = [result.problem for result in kept if result.problem is not None]
    try:
        pruned = await _prune(client, parts, workspace.owner, ours)
    except errors.VolaryError as error:
        problems.append(error)
    else:
        changes += [change for change in pruned.changes if change.written]
        problems += [errors.PermanentError(failure) for failure in pruned.failures]
    reasons = list(dict.fromkeys(map(_sentence, problems)))
    return Outcome(
        phrases.first_of(reasons, _SHOWN, "; "),
        is_refused=bool(problems) and not any(map(_is_silent, problems)),
        namespaces=tuple(ours),
        changes=tuple(changes),
    )


def refusal_of_namespace(
    wanted: workspaces.WorkspaceNamespace,
    live: json.JsonObject | None,
    owner: ownership.Owner,
) -> str:
    """Return why a workspace may not have a namespace as it is on a cluster; empty: it may."""
    if live is None:
        return ""
    if objects.is_terminating(live):
        return f"namespace {wanted.name} is being deleted"
    if tracking.is_ours(live, owner):
        return ""
    claim = claims.claim_of(live, owner)
    if claim is not None:
        return f"namespace {wanted.name} belongs to {claim.who}, and is not taken over"
    if wanted.adopt:
        return ""
    return (
        f"namespace {wanted.name} was there before and is not the workspace's"
        f"{_known_of(live)} (adopt: true takes it over)"
    )


async def _keep_namespace(
    client: clients.Client,
    part: workspace_manifests.NamespaceManifests,
    options: applier.Options,
    owner: ownership.Owner,
) -> _Kept:
    changes: list[apply_results.Change] = []
    is_ours = False
    try:
        kind = await resource_mapping.require(client, "", "Namespace")
        live = await client.get(kind, part.namespace.name)
        refusal = refusal_of_namespace(part.namespace, live, owner)
        if refusal:
            return _Kept(errors.PermanentError(refusal))
        is_ours = live is not None and tracking.is_ours(live, owner)
        namespace, *rest = part.items
        if live is not None and (not is_ours or _is_adopted(live)):
            namespace = workspace_manifests.marked_as_adopted(namespace)
        set_up = applier.SetApply(
            client,
            replace(
                options,
                conflicts=_LABELS_STAY,
                before_writing=_Unchanged(part.namespace, live, owner).check,
            ),
        )
        changes += (await set_up.apply([namespace])).changes
        is_ours = True
        changes += (await applier.SetApply(client, options).apply(rest)).changes
    except apply_errors.ApplyError as error:
        changes += error.changes.changes
        return _Kept(error, is_ours, _written(changes))
    except errors.VolaryError as error:
        return _Kept(error, is_ours, _written(changes))
    return _Kept(None, is_ours, _written(changes))


@dataclass(frozen=True, slots=True)
class _Unchanged:
    """Looks once more at a namespace right before it is written."""

    wanted: workspaces.WorkspaceNamespace
    seen: json.JsonObject | None
    owner: ownership.Owner

    async def check(self, live: Sequence[json.JsonObject]) -> None:
        """Refuse a namespace that somebody made in its place meanwhile.

        Raises:
            errors.UserError: It is another one by now, and not the workspace's.
        """
        for body in live:
            is_seen = self.seen is not None and objects.uid(self.seen) == objects.uid(body)
            refusal = "" if is_seen else refusal_of_namespace(self.wanted, body, self.owner)
            if refusal:
                raise errors.user_error(refusal)


async def _prune(
    client: clients.Client,
    parts: Sequence[workspace_manifests.NamespaceManifests],
    owner: ownership.Owner,
    namespaces: Sequence[str],
) -> deletions.DeletionResult:
    """Delete objects of the workspace in its namespaces that are not written any more."""
    listed = await owned_objects.list_kinds(
        client,
        workspace_manifests.KINDS,
        tracking.selector(owner),
        inventory.Inventory(owner, ""),
        allowed=(),
        used=namespaces,
    )
    refused = [answer for _, answer in listed if isinstance(answer, api_errors.Forbidden)]
    if refused:
        raise refused[0]
    live = [
        body
        for _, answer in listed
        if not isinstance(answer, api_errors.Forbidden)
        for body in answer
        if objects.text(body, "metadata", "namespace") in namespaces
    ]
    wanted = [item for part in parts for item in part.items]
    # What is written is known completely, and it is kinds without data that go.
    decision = prune_decisions.decide_prune(wanted, live, owner=owner, allow_mass_deletion=True)
    catalog = await client.discover()
    going = [
        resource_mapping.MappedManifest(item, kind)
        for item in decision.delete
        if (kind := resource_mapping.find(catalog, item))
    ]
    return await deletions.delete_in_order(
        client, going, lambda body: prune_decisions.unprunable(body, owner), timeout=_GONE
    )


def _is_adopted(live: json.JsonObject) -> bool:
    annotations = objects.mapping(live, "metadata", "annotations")
    return annotations.get(workspace_manifests.ADOPTED) == "true"


def _known_of(live: json.JsonObject) -> str:
    by = objects.text(live, "metadata", "labels", "app.kubernetes.io/managed-by")
    return f" but managed by {by}" if by else ""


def _written(changes: Sequence[apply_results.Change]) -> tuple[apply_results.Change, ...]:
    return tuple(change for change in changes if change.written)


def _is_silent(error: errors.VolaryError) -> bool:
    return apply_errors.unreachable(error) is not None or isinstance(error, errors.TemporaryError)


def _sentence(error: errors.VolaryError) -> str:
    return str(error).replace("\n", "; ")
