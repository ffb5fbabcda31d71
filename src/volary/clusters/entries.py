"""Values of a kubeconfig entry, with the types that kubectl insists on: pure.

kubectl refuses a number where a text belongs (`token: 5`), so do we: guessing would
change what was meant.
"""

import base64
import binascii
from dataclasses import dataclass

from volary.model import errors, json, problem


@dataclass(frozen=True, slots=True)
class Entry:
    """A named cluster, user or context of a kubeconfig file, or an object inside it."""

    body: json.JsonObject
    #: Where its relative paths start.
    directory: str
    file: str
    #: ``users[admin]``, for messages.
    path: str = ""

    def error(self, message: str, *, key: str = "", hint: str = "") -> errors.UserError:
        """Return an error about this entry, or about one of its keys."""
        path = f"{self.path}.{key}" if self.path and key else self.path or key
        return errors.user_error(message, hint=hint, where=problem.Location(self.file, path=path))

    def text(self, key: str) -> str:
        """Return a text; empty when it is not given."""
        value = self.body.get(key)
        if value is None or isinstance(value, str):
            return value or ""
        raise self.error(f"{key} must be a text", key=key, hint="put it in quotes")

    def flag(self, key: str) -> bool:
        """Return true or false; false when it is not given."""
        value = self.body.get(key)
        if value is None or isinstance(value, bool):
            return bool(value)
        raise self.error(f"{key} must be true or false", key=key)

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of texts; empty when it is not given."""
        value = self.body.get(key) or []
        if isinstance(value, list) and all(isinstance(each, str) for each in value):
            return tuple(value)
        raise self.error(f"{key} must be a list of texts", key=key)

    def inner(self, key: str) -> "Entry | None":
        """Return the object at `key`; None when it is not given."""
        value = self.body.get(key)
        if value is None:
            return None
        return self._within(value, key)

    def inners(self, key: str) -> "tuple[Entry, ...]":
        """Return a list of objects; empty when it is not given."""
        value = self.body.get(key) or []
        if not isinstance(value, list):
            raise self.error(f"{key} must be a list of objects", key=key)
        return tuple(self._within(each, f"{key}[{place}]") for place, each in enumerate(value))

    def _within(self, value: object, key: str) -> "Entry":
        if not isinstance(value, dict):
            raise self.error(f"{key} must be an object", key=key)
        path = f"{self.path}.{key}" if self.path else key
        return Entry(value, self.directory, self.file, path)

    def data(self, key: str) -> bytes:
        """Return what the base64 text at `key` holds; empty when it is not given."""
        try:
            return base64.b64decode("".join(self.text(key).split()), validate=True)
        except (binascii.Error, ValueError) as error:
            raise self.error(f"{key} is not base64", key=key) from error
