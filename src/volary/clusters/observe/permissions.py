"""What the user of a cluster may do, asked before the first write.

A dry run finds out whether an object may be written. Nothing tries a watch or a delete, so
they are asked for: by one question for each namespace, and one by one where its answer does
not allow them, since authorizers besides RBAC answer only that. A cluster that answers neither
is believed: what may not be done shows where it is tried. What is allowed is believed for some
minutes; whatever is not is asked for again.
"""

import asyncio
import weakref
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from volary.clusters.api import discovery
from volary.clusters.client import clients
from volary.concurrency import fan_out
from volary.manifests import objects
from volary.model import errors, json

#: How long rules are believed.
_LIFETIME = timedelta(minutes=5)
#: Namespaces of a cluster that are remembered.
_MOST = 256
_Rules = Sequence[json.JsonObject]
#: By client, then by namespace: its rules, and until when they are believed.
_REMEMBERED: "weakref.WeakKeyDictionary[clients.Client, dict[str, tuple[_Rules, float]]]" = (
    weakref.WeakKeyDictionary()
)


@dataclass(frozen=True, slots=True)
class Permission:
    """One thing to do with the objects of a kind in a namespace."""

    verb: str
    resource: discovery.Resource
    #: Empty: of the whole cluster.
    namespace: str

    @property
    def sentence(self) -> str:
        """What may not be done."""
        return f"the user may not {self.verb} {self.objects}"

    @property
    def objects(self) -> str:
        """With which objects."""
        where = f"in namespace {self.namespace}" if self.namespace else "of the whole cluster"
        return f"{self.resource.title} {where}"


async def missing(client: clients.Client, wanted: Iterable[Permission]) -> list[Permission]:
    """Return what of `wanted` is certainly not allowed, in its order."""
    wanted = tuple(dict.fromkeys(wanted))
    remembered = _REMEMBERED.setdefault(client, {})
    now = asyncio.get_running_loop().time()

    def known(namespace: str) -> Sequence[json.JsonObject] | errors.VolaryError:
        rules, until = remembered.get(namespace, ((), 0.0))
        return rules if now < until else ()

    doubtful = [
        permission for permission in wanted if not _allows(known(permission.namespace), permission)
    ]
    asked = list(dict.fromkeys(permission.namespace for permission in doubtful))
    answers = await fan_out.attempt_all(asked, lambda name: _rules(client, name))
    rules = dict(zip(asked, answers, strict=True))
    if len(remembered) > _MOST:
        remembered.clear()
    remembered |= {
        name: (answer, now + _LIFETIME.total_seconds())
        for name, answer in rules.items()
        if not isinstance(answer, errors.VolaryError)
    }
    doubtful = [
        permission
        for permission in doubtful
        if not _allows(rules[permission.namespace], permission)
    ]
    denied = await fan_out.attempt_all(doubtful, lambda permission: _is_denied(client, permission))
    return [
        permission for permission, answer in zip(doubtful, denied, strict=True) if answer is True
    ]


async def _rules(client: clients.Client, namespace: str) -> Sequence[json.JsonObject]:
    if not namespace:
        # Rules are those of a namespace; what holds for the whole cluster is asked one by one.
        return ()
    status = await client.review("SelfSubjectRulesReview", {"namespace": namespace})
    return tuple(objects.mappings(status, "resourceRules"))


def _allows(rules: Sequence[json.JsonObject] | errors.VolaryError, permission: Permission) -> bool:
    if isinstance(rules, errors.VolaryError):
        return False
    asked = {
        "verbs": permission.verb,
        "apiGroups": permission.resource.group,
        "resources": permission.resource.plural,
    }
    return any(
        not objects.sequence(rule, "resourceNames")
        and all({"*", value} & set(objects.sequence(rule, key)) for key, value in asked.items())
        for rule in rules
    )


async def _is_denied(client: clients.Client, permission: Permission) -> bool:
    attributes = {
        "verb": permission.verb,
        "group": permission.resource.group,
        "resource": permission.resource.plural,
        "namespace": permission.namespace,
    }
    status = await client.review("SelfSubjectAccessReview", {"resourceAttributes": attributes})
    return status.get("allowed") is False
