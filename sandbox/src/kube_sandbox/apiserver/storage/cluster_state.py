"""What the verbs of one cluster work on: its objects, kinds, addresses, clock and chance."""

import random
import uuid

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import times
from kube_sandbox.apimachinery.scheme import kinds, served_kinds
from kube_sandbox.apiserver.storage import allocators, storage, verbs

_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH = 5
#: What a generated name may have before its suffix (253 minus the suffix is for validation).
_MAXIMUM_BASE = 58


class ClusterState:
    """The state of an emulated cluster; nothing in it is shared with another one."""

    def __init__(self, time: times.Clock, settings: verbs.Settings) -> None:
        self.time = time
        self.settings = settings
        self.random = random.Random(settings.seed)
        self.storage = storage.Storage(history=settings.history)
        self.served = served_kinds.Served()
        self.addresses = allocators.Addresses(
            settings.service_network, settings.node_ports, self.random
        )

    def stamp(self) -> str:
        """The time as metadata has it: UTC, whole seconds."""
        return times.stamp(self.time.now())

    def uid(self) -> str:
        """A new uid."""
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))

    def generated_name(self, base: str) -> str:
        """A name for ``generateName``."""
        suffix = "".join(self.random.choices(_ALPHABET, k=_SUFFIX_LENGTH))
        return base[:_MAXIMUM_BASE] + suffix

    def find(self, kind: kinds.Kind, namespace: str, name: str) -> json.JsonObject | None:
        """Return a stored object in its stored version, or None."""
        item = self.storage.get(kind.bucket, namespace, name)
        return item.body if item else None
