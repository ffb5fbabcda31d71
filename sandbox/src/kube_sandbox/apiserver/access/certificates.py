"""A certificate authority for this process: kubectl sends tokens over TLS only.

Elliptic curve P-256, written down here in its few formulas, so that the sandbox
needs no cryptography package. It is slow to the attentive (timing shows bits of
the key) and made for the loopback of a sandbox, for nothing else.
"""

import base64
import functools
import hashlib
import secrets
import ssl
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

_P = 0xFFFFFFFF00000001000000000000000000000000FFFFFFFFFFFFFFFFFFFFFFFF
_N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
_A = _P - 3
_G = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)
_POINT = tuple[int, int] | None

_SHA256_WITH_ECDSA = "1.2.840.10045.4.3.2"
_EC_KEY = "1.2.840.10045.2.1"
_P256 = "1.2.840.10045.3.1.7"
_COMMON_NAME = "2.5.4.3"
_LIFETIME = timedelta(days=365)


@dataclass(frozen=True, slots=True)
class Authority:
    """The process' authority and the one server certificate it signed."""

    #: The authority's certificate in PEM.
    certificate: str
    server_certificate: str
    server_key: str


def _add(left: _POINT, right: _POINT) -> _POINT:
    if left is None or right is None:
        return left or right
    (x1, y1), (x2, y2) = left, right
    if x1 == x2:
        if (y1 + y2) % _P == 0:
            return None
        slope = (3 * x1 * x1 + _A) * pow(2 * y1, -1, _P)
    else:
        slope = (y2 - y1) * pow(x2 - x1, -1, _P)
    x = (slope * slope - x1 - x2) % _P
    return x, (slope * (x1 - x) - y1) % _P


def _multiply(factor: int) -> tuple[int, int]:
    """Return a multiple of the base point."""
    found: _POINT = None
    step: _POINT = _G
    while factor:
        if factor & 1:
            found = _add(found, step)
        step = _add(step, step)
        factor >>= 1
    if found is None:
        raise ValueError("the factor is a multiple of the group's order")
    return found


def _sign(key: int, text: bytes) -> bytes:
    digest = int.from_bytes(hashlib.sha256(text).digest())
    while True:
        nonce = secrets.randbelow(_N - 1) + 1
        r = _multiply(nonce)[0] % _N
        s = pow(nonce, -1, _N) * (digest + r * key) % _N
        if r and s:
            return _sequence(_integer(r), _integer(s))


def _tagged(tag: int, *parts: bytes) -> bytes:
    content = b"".join(parts)
    size = len(content)
    if size < 128:
        return bytes((tag, size)) + content
    length = size.to_bytes((size.bit_length() + 7) // 8)
    return bytes((tag, 128 | len(length))) + length + content


def _sequence(*parts: bytes) -> bytes:
    return _tagged(0x30, *parts)


def _integer(value: int) -> bytes:
    return _tagged(0x02, value.to_bytes(value.bit_length() // 8 + 1))


def _bits(content: bytes) -> bytes:
    return _tagged(0x03, b"\0", content)


def _identifier(text: str) -> bytes:
    first, second, *rest = (int(each) for each in text.split("."))
    content = bytes((first * 40 + second,))
    for number in rest:
        digits = [number & 127]
        while number := number >> 7:
            digits.append(number & 127 | 128)
        content += bytes(reversed(digits))
    return _tagged(0x06, content)


def _name(text: str) -> bytes:
    pair = _sequence(_identifier(_COMMON_NAME), _tagged(0x0C, text.encode()))
    return _sequence(_tagged(0x31, pair))


def _time(when: datetime) -> bytes:
    return _tagged(0x18, when.strftime("%Y%m%d%H%M%SZ").encode())


def _public(key: int) -> bytes:
    x, y = _multiply(key)
    return b"\x04" + x.to_bytes(32) + y.to_bytes(32)


def _public_info(key: int) -> bytes:
    algorithm = _sequence(_identifier(_EC_KEY), _identifier(_P256))
    return _sequence(algorithm, _bits(_public(key)))


def _extension(number: str, content: bytes, *, critical: bool = False) -> bytes:
    marked = (_tagged(0x01, b"\xff"),) if critical else ()
    return _sequence(_identifier(number), *marked, _tagged(0x04, content))


def _authority_extensions(key: int) -> bytes:
    identity = hashlib.sha1(_public(key), usedforsecurity=False).digest()
    return _sequence(
        _extension("2.5.29.19", _sequence(_tagged(0x01, b"\xff")), critical=True),
        _extension("2.5.29.15", _tagged(0x03, b"\x01\x06"), critical=True),
        _extension("2.5.29.14", _tagged(0x04, identity)),
    )


def _server_extensions(authority_key: int, hosts: tuple[str, ...]) -> bytes:
    identity = hashlib.sha1(_public(authority_key), usedforsecurity=False).digest()
    return _sequence(
        _extension("2.5.29.19", _sequence(), critical=True),
        _extension("2.5.29.15", _tagged(0x03, b"\x07\x80"), critical=True),
        _extension("2.5.29.37", _sequence(_identifier("1.3.6.1.5.5.7.3.1"))),
        _extension("2.5.29.35", _sequence(_tagged(0x80, identity))),
        _extension("2.5.29.17", _sequence(*(_host(each) for each in hosts))),
    )


def _host(text: str) -> bytes:
    try:
        return _tagged(0x87, ip_address(text).packed)
    except ValueError:
        return _tagged(0x82, text.encode())


def _certificate(subject: str, key: int, signer: int, extensions: bytes, now: datetime) -> bytes:
    algorithm = _sequence(_identifier(_SHA256_WITH_ECDSA))
    body = _sequence(
        _tagged(0xA0, _integer(2)),
        _integer(secrets.randbits(120) | 1),
        algorithm,
        _name("kube-sandbox authority"),
        _sequence(_time(now - timedelta(days=1)), _time(now + _LIFETIME)),
        _name(subject),
        _public_info(key),
        _tagged(0xA3, extensions),
    )
    return _sequence(body, algorithm, _bits(_sign(signer, body)))


def _private(key: int) -> bytes:
    return _sequence(
        _integer(1),
        _tagged(0x04, key.to_bytes(32)),
        _tagged(0xA0, _identifier(_P256)),
        _tagged(0xA1, _bits(_public(key))),
    )


def _pem(label: str, content: bytes) -> str:
    text = base64.encodebytes(content).decode()
    return f"-----BEGIN {label}-----\n{text}-----END {label}-----\n"


@functools.cache
def authority(now: datetime, hosts: tuple[str, ...]) -> Authority:
    """Make an authority and a certificate for `hosts`, valid for a year."""
    root, server = secrets.randbelow(_N - 1) + 1, secrets.randbelow(_N - 1) + 1
    signed = _certificate("kube-sandbox authority", root, root, _authority_extensions(root), now)
    extensions = _server_extensions(root, hosts)
    served = _certificate("kube-sandbox", server, root, extensions, now)
    return Authority(
        certificate=_pem("CERTIFICATE", signed),
        server_certificate=_pem("CERTIFICATE", served),
        server_key=_pem("EC PRIVATE KEY", _private(server)),
    )


def today(now: datetime) -> datetime:
    """Return the start of the day, so that all clusters of a run share one authority."""
    return now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


@functools.cache
def context(made: Authority) -> ssl.SSLContext:
    """Return what a server needs to speak TLS with the authority's certificate; shared."""
    found = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    found.minimum_version = ssl.TLSVersion.TLSv1_2
    found.set_alpn_protocols(["http/1.1"])
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "server.pem"
        file.touch(mode=0o600)
        file.write_text(made.server_key + made.server_certificate)
        found.load_cert_chain(file)
    return found
