"""What a file of SOPS is, and which of its values are secret. Pure.

A file is one of SOPS when it has the section that the program writes: ``sops:`` with a MAC, the
version or the date. What was ``ENC[…]`` in it and is not any more is a secret value.
"""

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from volary.config.text import yaml
from volary.model import errors

_ENCRYPTED = re.compile(r"^ENC\[AES256_GCM,data:([^,\]]*),iv:[^\]]*,type:(\w+)\]$")
#: Anywhere in a text: a value that nobody decrypted.
LITERAL = re.compile(r"ENC\[AES256_GCM,data:[^\]]*\]")
_SECTION = re.compile(rb"^[\"']?sops[\"']?\s*:", re.MULTILINE)
_DOTENV = re.compile(rb"^sops_(?:mac|version|lastmodified)\s*=", re.MULTILINE)
_INI = re.compile(rb"^\[sops\]\s*$", re.MULTILINE)
_INI_SIGN = re.compile(rb"^(?:mac|version|lastmodified)\s*=", re.MULTILINE)
_SIGNS = ("mac", "version", "lastmodified")
#: Lists of keys in the section, and what they are for people.
_KINDS = {
    "age": "age",
    "pgp": "PGP",
    "kms": "AWS KMS",
    "gcp_kms": "Google KMS",
    "azure_kv": "Azure Key Vault",
    "hc_vault": "Vault",
}
_AZURE_HOSTS = (
    *(".vault.azure.net", ".vault.azure.cn", ".vault.usgovcloudapi.net"),
    ".vault.microsoftazure.de",
)
#: What an object is called is seen everywhere, so it cannot be a secret.
_IDENTITY = frozenset({"apiVersion", "kind", "type"})
_OF_METADATA = frozenset({"name", "namespace", "labels", "generateName"})
_DOTENV_LINE = re.compile(r"^\s*([^=\s#;]+)\s*=\s?(.*?)\s*$")
_COMMENT = re.compile(r"^\s*#(.+)$", re.MULTILINE)
#: Bytes; a secret below is not masked in prose, see `volary.manifests.redaction`.
_SHORTEST = 4


#: Objects that an operator in the cluster decrypts; they pass through as they are.
OPENED_IN_CLUSTER = "isindir.github.com"


class Format(StrEnum):
    """Forms of files that sops knows, by its own words."""

    YAML = "yaml"
    JSON = "json"
    DOTENV = "dotenv"
    INI = "ini"
    BINARY = "binary"


@dataclass(frozen=True, slots=True)
class EncryptedFile:
    """A file of SOPS."""

    path: str
    content: bytes
    form: Format


def recognise(path: str, content: bytes) -> EncryptedFile | None:
    """Return the file when it is one of SOPS, whatever it is called; None for others."""
    if b"sops" not in content or b"ENC[" not in content:
        return None
    form = _form(path, content)
    return EncryptedFile(path, content, form) if form else None


def _form(path: str, content: bytes) -> Format | None:
    if _DOTENV.search(content):
        return Format.DOTENV
    section = _INI.search(content)
    if section and _INI_SIGN.search(content, section.end()):
        return Format.INI
    is_json = content.lstrip()[:1] == b"{"
    if not is_json and not _SECTION.search(content):
        return None
    encrypted = [one for one in _yaml(content) if _is_section(one.get("sops"))]
    groups = {str(one.get("apiVersion")).rpartition("/")[0] for one in encrypted}
    if not encrypted or OPENED_IN_CLUSTER in groups:
        return None
    if not is_json:
        return Format.YAML
    named_so = path.endswith((".json", ".yaml", ".yml"))
    is_binary = set(encrypted[0]) == {"data", "sops"} and isinstance(encrypted[0]["data"], str)
    return Format.BINARY if is_binary and not named_so else Format.JSON


def _is_section(value: object) -> bool:
    return isinstance(value, Mapping) and any(sign in value for sign in _SIGNS)


def _yaml(content: bytes) -> list[Mapping[str, object]]:
    try:
        documents = yaml.load_all(content.decode(), "")
    except (UnicodeDecodeError, errors.UserError):
        return []
    return [one.value for one in documents if isinstance(one.value, Mapping)]


def sections(file: EncryptedFile) -> list[Mapping[str, object]]:
    """Return the sections of keys; none of forms that write them flat."""
    if file.form in (Format.DOTENV, Format.INI):
        return []
    found = (document.get("sops") for document in _yaml(file.content))
    return [section for section in found if isinstance(section, Mapping)]


def key_kinds(file: EncryptedFile) -> tuple[str, ...]:
    """Return what opens the file, in words for people; nothing where that is not readable."""
    if file.form in (Format.DOTENV, Format.INI):
        text = file.content.decode("utf-8", "replace")
        return tuple(
            word
            for name, word in _KINDS.items()
            if re.search(rf"^(?:sops_)?{name}__list_", text, re.MULTILINE)
        )
    found = dict.fromkeys(
        word
        for section in sections(file)
        for group in _groups(section)
        for name, word in _KINDS.items()
        if group.get(name)
    )
    return tuple(found)


def foreign_services(file: EncryptedFile, vault: str) -> list[str]:
    """Return the key services that the file names and that nobody allowed.

    The address of a Vault, or of an Azure vault, stands in the file: whoever may push could
    have the credentials sent to a server of theirs, or requests to this machine's network.

    Args:
        file: What is to be decrypted.
        vault: The one Vault that is allowed; empty: none.
    """
    vaults = _addresses(file, "hc_vault", "vault_address")
    azure = _addresses(file, "azure_kv", "vault_url")
    found = [address for address in vaults if address.rstrip("/") != vault.rstrip("/")]
    found += [address for address in azure if not _is_azure(address)]
    for name, known in ((b"vault_address", vaults), (b"vault_url", azure)):
        if file.content.count(name) > len(known):
            # sops may read what we do not; better none of them than one too many.
            found.append("one that is written in a way of its own")
    return list(dict.fromkeys(found))


def _addresses(file: EncryptedFile, kind: str, name: str) -> list[str]:
    if file.form in (Format.DOTENV, Format.INI):
        text = file.content.decode("utf-8", "replace")
        pattern = rf"^(?:sops_)?\w*{kind}__list_\d+__map_{name}\s*[=:]\s*(\S+)"
        return re.findall(pattern, text, re.MULTILINE)
    return [
        str(entry.get(name) or "")
        for section in sections(file)
        for group in _groups(section)
        for entry in _entries(group.get(kind))
    ]


def _is_azure(address: str) -> bool:
    found = re.fullmatch(r"https://([a-zA-Z0-9-]+(?:\.[a-z0-9-]+)+)/?", address)
    return found is not None and found[1].lower().endswith(_AZURE_HOSTS)


def _groups(section: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    yield section
    yield from _entries(section.get("key_groups"))


def _entries(value: object) -> Iterator[Mapping[str, object]]:
    several = value if isinstance(value, list) else ()
    yield from (entry for entry in several if isinstance(entry, Mapping))


def secret_values(file: EncryptedFile, decrypted: bytes) -> tuple[object, ...]:
    """Return what was encrypted, as it is now: strings, numbers, and comments.

    Of an object of Kubernetes not what it is called (kind, name, namespace, labels), even when
    the whole of it is encrypted: that is seen in every sentence about it.
    """
    text = decrypted.decode("utf-8", "replace")
    found: list[object] = []
    match file.form:
        case Format.BINARY:
            found.append(text)
            found += _leaves_of(text)
        case Format.DOTENV | Format.INI:
            found += _of_lines(file.content.decode("utf-8", "replace"), text)
        case Format.YAML | Format.JSON:
            for old, new in zip(_yaml(file.content), _yaml(decrypted), strict=False):
                found += _of_document(old, new)
            if b"#ENC[" in file.content:
                found += _COMMENT.findall(text)
    return tuple(value for value in found if not isinstance(value, bool) and value is not None)


def _of_document(old: Mapping[str, object], new: Mapping[str, object]) -> Iterator[object]:
    is_object = "apiVersion" in old and "kind" in old
    for key, value in old.items():
        if key == "sops" or (is_object and key in _IDENTITY):
            continue
        if is_object and key == "metadata" and isinstance(value, Mapping):
            after = new.get(key)
            for name, inner in value.items():
                if name not in _OF_METADATA and isinstance(after, Mapping):
                    yield from _compared(inner, after.get(name))
        else:
            yield from _compared(value, new.get(key))


def _compared(old: object, new: object) -> Iterator[object]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key, value in old.items():
            yield from _compared(value, new.get(key))
    elif isinstance(old, list) and isinstance(new, list):
        kept = [value for value in old if not _is_comment(value)]
        for before, after in zip(kept, new, strict=False):
            yield from _compared(before, after)
    elif isinstance(old, str) and _ENCRYPTED.match(old):
        yield new


def _is_comment(value: object) -> bool:
    found = _ENCRYPTED.match(value) if isinstance(value, str) else None
    return found is not None and found[2] == "comment"


def _leaves_of(text: str) -> Iterator[object]:
    """Yield what a text holds when it is YAML, JSON or lines of assignments."""
    yield from (found[2] for line in text.splitlines() if (found := _DOTENV_LINE.match(line)))
    for document in _yaml(text.encode()):
        yield from leaves(document)


def leaves(value: object) -> Iterator[object]:
    """Yield every value inside of lists and objects."""
    if isinstance(value, Mapping):
        for inner in value.values():
            yield from leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner)
    else:
        yield value


def _of_lines(old: str, new: str) -> Iterator[object]:
    encrypted = {
        found[1]
        for line in old.splitlines()
        if (found := _DOTENV_LINE.match(line)) and _ENCRYPTED.match(found[2])
    }
    for line in new.splitlines():
        found = _DOTENV_LINE.match(line)
        if found and found[1] in encrypted:
            value = found[2].strip()
            yield value
            yield value.strip("\"'")
            yield value.replace("\\n", "\n")


def short_values(file: EncryptedFile) -> list[str]:
    """Return the keys whose values are too short to be masked; their length is not encrypted."""
    found: list[str] = []
    if file.form not in (Format.YAML, Format.JSON):
        return found
    for document in _yaml(file.content):
        for path, value in _paths({key: one for key, one in document.items() if key != "sops"}):
            encrypted = _ENCRYPTED.match(value) if isinstance(value, str) else None
            if encrypted is None or encrypted[2] in ("bool", "comment"):
                continue
            if 0 < _length(encrypted[1]) < _SHORTEST:
                found.append(yaml.dotted(path))
    return found


def _paths(value: object, path: yaml.Path = ()) -> Iterator[tuple[yaml.Path, object]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _paths(inner, (*path, str(key)))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _paths(inner, (*path, place))
    else:
        yield path, value


def _length(data: str) -> int:
    try:
        return len(base64.b64decode(data))
    except (binascii.Error, ValueError):
        return 0
