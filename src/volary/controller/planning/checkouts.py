"""A copy of a checkout looks like the application that it was copied from.

Without a remote only commits show which application a repository describes, and a copy has them
too. So a cluster remembers from which checkout it got the last release, by a digest of where that
was. Another one is said; what it would delete is asked about first.
"""

from collections.abc import Collection, Mapping, Sequence

from volary.clusters.inventory import inventory
from volary.controller.planning import recognition
from volary.model import applications, errors, phrases
from volary.model.objects import manifest

_MOST_OBJECTS = 3


def check(
    application: applications.Application,
    recognised: Mapping[str, recognition.Recognised],
    before: Mapping[str, Sequence[manifest.Manifest]],
    after: Mapping[str, Sequence[manifest.Manifest]],
    *,
    prunes: bool,
) -> tuple[errors.Problem, ...]:
    """Return the warning that the last release came from another checkout.

    Args:
        application: What is rolled out.
        recognised: What each cluster knows of it.
        before: What runs, by cluster.
        after: What is to run.
        prunes: Whether what is not in Git any more is deleted.

    Raises:
        errors.UserError: It would delete objects; that may be another application's.
    """
    elsewhere = {
        target: known.stored
        for target, known in recognised.items()
        if known.stored is not None and _is_elsewhere(known.stored, application)
    }
    if not elsewhere:
        return ()
    name, where = application.declared_name, phrases.join_names(tuple(elsewhere))
    gone = {
        title: None
        for target in elsewhere
        for title in _titles(before.get(target, ()), but=_titles(after.get(target, ())))
    }
    if prunes and gone:
        stored = next(iter(elsewhere.values()))
        same = (
            f"kubectl annotate --overwrite configmap -n {stored.namespace}"
            f" {inventory.name(stored.owner)} {inventory.CHECKOUT}={application.origin.checkout}"
        )
        raise errors.user_error(
            f"{name} was released to {where} last from another checkout, neither has a remote, and"
            f" this commit would delete {phrases.first_of(gone, _MOST_OBJECTS)}",
            hint=f"if it is another application, give it another name; if it is the same, say so"
            f" in each of the clusters with `{same}`",
        )
    return (
        errors.Problem(
            f"{name} was released to {where} last from another checkout, and neither has a remote",
            hint="an application that began as a copy of this one needs a name of its own, else"
            " it takes its place",
            severity=errors.Severity.WARNING,
        ),
    )


def _is_elsewhere(stored: inventory.Inventory, application: applications.Application) -> bool:
    then, now = stored.checkout, application.origin.checkout
    return bool(then and now) and then != now


def _titles(
    manifests: Sequence[manifest.Manifest], *, but: Collection[str] = ()
) -> dict[str, None]:
    titles = (item.key.title for item in manifests)
    return {title: None for title in titles if title not in but}
