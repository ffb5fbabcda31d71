"""Names of copies: a suffix, checked against what Kubernetes allows."""

import re

from volary.model import errors
from volary.model.objects import manifest

_SUFFIX = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")

#: Longest names by kind; other kinds take a DNS subdomain.
_LONGEST = {
    "Service": 63,
    # Its pods carry the name and an eleven-character revision in one label of 63.
    "StatefulSet": 52,
}
_LONGEST_OTHER = 253


def add_suffix(item: manifest.Manifest, suffix: str) -> manifest.Manifest:
    """Return the manifest as ``<name>-<suffix>``.

    Raises:
        UserError: When the name is none that the kind may have.
    """
    check_suffix(suffix)
    name = f"{item.name}-{suffix}"
    longest = _LONGEST.get(item.kind, _LONGEST_OTHER)
    if len(name) > longest:
        raise errors.user_error(
            f"the name of the {item.kind}, {name}, is too long: {len(name)} characters, "
            f"at most {longest} are allowed",
            hint="choose a shorter name, or a shorter suffix in the stage's options",
            where=item.origin,
        )
    return item.with_body({**item.body, "metadata": {**item.metadata, "name": name}})


def check_suffix(suffix: str) -> None:
    """Check that names of objects may end in `suffix`.

    Raises:
        UserError: When they may not.
    """
    if not _SUFFIX.fullmatch(suffix):
        raise errors.user_error(
            f"the suffix {suffix!r} cannot be part of a name",
            hint="set the stage's suffix to lower-case letters, digits and dashes; "
            "by default it is the value of the variant label",
        )
