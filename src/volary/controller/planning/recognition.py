"""Which of the applications that a cluster knows is the one that Git describes.

An application is more than its name: several of one name may be in one cluster. Each inventory
says where its application is described, by which commits, and which namespaces it uses. It is ours
if it shares a namespace with us and comes from the same directory of the same repository, or if
our repository holds its commits: then the repository was renamed, or is reached in another way.
Another one stays as it is. What cannot be told is asked, for both answers can do harm.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from volary.clusters.client import client_pool, clients
from volary.clusters.inventory import inventory, inventory_store
from volary.controller.planning import cluster_questions
from volary.model import applications, errors
from volary.model.objects import manifest, ownership


@dataclass(frozen=True, slots=True)
class History:
    """What can be asked about our repository."""

    #: One that it holds: what is rolled out now.
    commit: str
    #: Whether it holds a commit.
    holds: Callable[[str], Awaitable[bool]]
    #: Whether it describes, now, an application of the same name in a directory.
    describes: Callable[[str], Awaitable[bool]]


@dataclass(frozen=True, slots=True)
class KnownApplications:
    """What one cluster knows of applications of one name."""

    target: str
    inventories: tuple[inventory.Inventory, ...] = ()
    #: Namespaces that the application uses there.
    namespaces: tuple[str, ...] = ()
    #: Why nothing could be read; empty: it could.
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Recognised:
    """The application in one cluster."""

    owner: ownership.Owner
    #: What the cluster knows of it; None: nothing, or it cannot be asked.
    stored: inventory.Inventory | None = None
    #: Why the cluster cannot be asked; empty: it was.
    trouble: str = ""
    #: Others of the same name that stay as they are.
    others: tuple[inventory.Inventory, ...] = ()


async def observe(
    questions: cluster_questions.ClusterQuestions,
    application: applications.Application,
    manifests: Mapping[str, Sequence[manifest.Manifest]],
) -> list[KnownApplications]:
    """Read the inventories of the application's name in every target at once."""
    namespaces: dict[str, tuple[str, ...]] = {}

    async def look(client: clients.Client) -> tuple[inventory.Inventory, ...]:
        target = client.name
        namespaces[target] = namespaces_of(application, manifests[target], client.namespace)
        member = questions.clusters.member(target)
        allowed = (member.namespaces if member else ()) or namespaces[target]
        return tuple(
            await inventory_store.find(client, application.declared_name, namespaces=allowed)
        )

    answers = await questions.ask_all(manifests, look)
    return [
        KnownApplications(target, (), namespaces.get(target, ()), answer.reason)
        if isinstance(answer, client_pool.Unavailable)
        else KnownApplications(target, answer, namespaces[target])
        for target, answer in answers.items()
    ]


async def recognise(
    application: applications.Application,
    known: KnownApplications,
    history: History,
    remembered: ownership.Owner | None = None,
) -> Recognised:
    """Find the application among those of its name in a cluster.

    One that the cluster does not know gets an id: that which is `remembered`, else a new one.

    Raises:
        errors.UserError: It cannot be told whether one is ours.
    """
    unclear: list[inventory.Inventory] = []
    here = application.origin.checkout
    # A copy of a repository holds the commits of two: its own comes first.
    for stored in sorted(known.inventories, key=lambda stored: stored.checkout != here):
        answer = await _is_same(stored, known.namespaces, application, history)
        if answer:
            others = tuple(other for other in known.inventories if other is not stored)
            return Recognised(stored.owner, stored, known.trouble, others)
        if answer is None:
            unclear.append(stored)
    if unclear:
        raise _asked(application, known.target, unclear[0], history.commit)
    taken = {stored.owner.id for stored in known.inventories}
    if remembered is not None and remembered.id not in taken:
        return Recognised(remembered, None, known.trouble, known.inventories)
    owner = new_owner(application, known.namespaces, taken)
    return Recognised(owner, None, known.trouble, known.inventories)


def namespaces_of(
    application: applications.Application, manifests: Sequence[manifest.Manifest], default: str
) -> tuple[str, ...]:
    """Return the namespaces that an application uses where `default` is that of the context."""
    default = application.input.namespace or default
    return tuple(sorted({item.namespace or default for item in manifests})) or (default,)


def new_owner(
    application: applications.Application, namespaces: Sequence[str], taken: Collection[str] = ()
) -> ownership.Owner:
    """Return whose an application's objects are in a cluster that does not know it yet."""
    name = application.declared_name
    home = application.input.namespace or (namespaces[0] if namespaces else "")
    return ownership.Owner(name, ownership.make_id(name, application.origin, home, taken))


async def _is_same(
    stored: inventory.Inventory,
    namespaces: Collection[str],
    application: applications.Application,
    history: History,
) -> bool | None:
    """Say whether an inventory is the application's; None: that cannot be told."""
    used = stored.namespaces - {""}
    if used and not used & set(namespaces):
        return False
    then, now = stored.origin, application.origin
    if not (then.repository and then.repository == now.repository):
        evidence = [commit for commit in (stored.commit, stored.begun) if commit]
        held = [await history.holds(commit) for commit in evidence]
        if not any(held):
            is_from_git = bool(then.repository or now.repository)
            return None if is_from_git and not (then.repository and now.repository) else False
    # It has moved if nothing of its name is described where it was.
    return then.directory == now.directory or not await history.describes(then.directory)


def _asked(
    application: applications.Application, target: str, stored: inventory.Inventory, commit: str
) -> errors.UserError:
    if not application.names_others:
        return errors.user_error(
            f"cluster {target} has an application {stored.owner.name} in a namespace of this"
            " one's, and nothing shows whether it is this one",
            hint="if it is not, give this one another name; if it is, whoever runs the server can"
            " say so",
        )
    repository = application.origin.repository
    # Without a remote only a commit shows whose it is.
    evidence = (
        f"{inventory.REPOSITORY}={repository}" if repository else f"{inventory.BEGUN}={commit}"
    )
    annotations = f"{evidence} {inventory.DIRECTORY}={application.origin.directory}"
    return errors.user_error(
        f"cluster {target} has an application {stored.owner.name} from {stored.origin}, at commit"
        f" {(stored.commit or stored.begun)[:12]}, and nothing shows whether it is this one, from"
        f" {application.origin}",
        hint="fetch the history that holds its commit; if it is this one, say so with `kubectl"
        f" annotate --overwrite configmap -n {stored.namespace} {inventory.name(stored.owner)}"
        f" {annotations}`; if it is not, give one of them another name",
    )
