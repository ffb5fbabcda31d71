"""Rules for names, labels and keys, in the words of kube-apiserver.

Each function returns what is wrong with a text, an empty list when nothing is.
"""

import functools
import re

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_LABEL_1035 = r"[a-z]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = rf"({_QUALIFIED})?"
_CONFIG_KEY = r"[-._a-zA-Z0-9]+"
_PORT_NAME = re.compile(r"[a-z0-9-]+\Z")

_LABEL_TEXT = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', "
    f"regex used for validation is '{_LABEL}')"
)
_SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', "
    f"regex used for validation is '{_SUBDOMAIN}')"
)
_LABEL_1035_TEXT = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or "
    f"'abc-123', regex used for validation is '{_LABEL_1035}')"
)
_NAME_PART_TEXT = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', "
    f"regex used for validation is '{_QUALIFIED}')"
)
_VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or "
    f"'my_value',  or '12345', regex used for validation is '{_VALUE}')"
)
_CONFIG_KEY_TEXT = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. "
    "'key.name',  or 'KEY_NAME',  or 'key-name', "
    f"regex used for validation is '{_CONFIG_KEY}')"
)


def _too_long(limit: int) -> str:
    return f"must be no more than {limit} bytes"


def _matched(pattern: str, limit: int, text: str, message: str) -> list[str]:
    found = [_too_long(limit)] if len(text.encode()) > limit else []
    return found if re.fullmatch(pattern, text) else [*found, message]


@functools.lru_cache(maxsize=4096)
def label(text: str) -> tuple[str, ...]:
    """Say what is wrong with an RFC 1123 label (namespaces, containers, volumes)."""
    return tuple(_matched(_LABEL, 63, text, _LABEL_TEXT))


@functools.lru_cache(maxsize=4096)
def subdomain(text: str) -> tuple[str, ...]:
    """Say what is wrong with an RFC 1123 subdomain (most names)."""
    return tuple(_matched(_SUBDOMAIN, 253, text, _SUBDOMAIN_TEXT))


@functools.lru_cache(maxsize=4096)
def label_1035(text: str) -> tuple[str, ...]:
    """Say what is wrong with an RFC 1035 label (Services)."""
    return tuple(_matched(_LABEL_1035, 63, text, _LABEL_1035_TEXT))


def path_segment(text: str) -> tuple[str, ...]:
    """Say what is wrong with a name that only has to fit into a path (RBAC)."""
    if text in (".", ".."):
        return (f"may not be '{text}'",)
    return tuple(f"may not contain '{each}'" for each in "/%" if each in text)


@functools.lru_cache(maxsize=4096)
def qualified(text: str) -> tuple[str, ...]:
    """Say what is wrong with a label or annotation key: ``example.com/name``."""
    prefix, slash, name = text.rpartition("/")
    found: list[str] = []
    if "/" in prefix:
        return (
            "a qualified name " + _NAME_PART_TEXT.removesuffix(")") + " with an optional DNS "
            "subdomain prefix and '/' (e.g. 'example.com/MyName'))",
        )
    if slash:
        if not prefix:
            found.append("prefix part must be non-empty")
        found.extend(f"prefix part {each}" for each in subdomain(prefix) if prefix)
    if not name:
        found.append("name part must be non-empty")
    elif len(name) > 63:
        found.append(f"name part {_too_long(63)}")
    if not re.fullmatch(_QUALIFIED, name):
        found.append(f"name part {_NAME_PART_TEXT}")
    return tuple(found)


@functools.lru_cache(maxsize=4096)
def label_value(text: str) -> tuple[str, ...]:
    """Say what is wrong with a label's value."""
    return tuple(_matched(_VALUE, 63, text, _VALUE_TEXT))


def config_key(text: str) -> tuple[str, ...]:
    """Say what is wrong with a key of a ConfigMap or Secret."""
    found = _matched(_CONFIG_KEY, 253, text, _CONFIG_KEY_TEXT)
    if text in (".", ".."):
        found.append(f"must not be '{text}'")
    elif text.startswith(".."):
        found.append("must not start with '..'")
    return tuple(found)


def port_name(text: str) -> tuple[str, ...]:
    """Say what is wrong with a port's name (IANA service name)."""
    found = []
    if len(text) > 15:
        found.append("must be no more than 15 characters")
    if not _PORT_NAME.match(text):
        found.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", text):
        found.append("must contain at least one letter (a-z)")
    if "--" in text:
        found.append("must not contain consecutive hyphens")
    if text.startswith("-") or text.endswith("-"):
        found.append("must not begin or end with a hyphen")
    return tuple(found)


def environment_variable(text: str) -> tuple[str, ...]:
    """Say what is wrong with the name of an environment variable."""
    if "=" in text or not all(" " <= each <= "~" for each in text):
        return (
            "a valid environment variable name must consist only of printable ASCII characters "
            "other than '='",
        )
    return ()
