"""Names and hashes that controllers make up."""

import json as stdlib_json
from collections.abc import Mapping
from typing import Any

#: Kubernetes' letters for made-up names: no vowels, so that no words come out.
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_FNV_OFFSET = 0x811C9DC5
_FNV_PRIME = 0x01000193


def template_hash(template: Mapping[str, Any], collisions: int | None = None) -> str:
    """Hash a pod template into the form of ``pod-template-hash``.

    FNV-1a over 32 bits, its decimal digits written in Kubernetes' alphabet. The
    value differs from a real cluster's, which hashes Go's memory layout.
    """
    data = stdlib_json.dumps(template, sort_keys=True, separators=(",", ":")).encode()
    if collisions is not None:
        data += collisions.to_bytes(8, "little")
    value = _FNV_OFFSET
    for byte in data:
        value = ((value ^ byte) * _FNV_PRIME) & 0xFFFFFFFF
    return safe_text(str(value))


def safe_text(text: str) -> str:
    """Write `text` in the alphabet of made-up names (Kubernetes: SafeEncodeString)."""
    return "".join(_ALPHABET[ord(each) % len(_ALPHABET)] for each in text)
