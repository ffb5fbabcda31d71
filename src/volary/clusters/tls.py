"""TLS contexts: how a server is verified and how the client proves itself."""

import ssl
import tempfile
from functools import cache
from pathlib import Path

from volary.clusters import credentials, settings
from volary.model import errors


def context(connection: settings.Connection, proof: credentials.Proof) -> ssl.SSLContext:
    """Return the TLS context for a connection.

    A context with the system's authorities alone is shared: it takes long to load and
    much memory, and a fleet may have hundreds of clusters.

    Raises:
        errors.UserError: A certificate or key cannot be read.
    """
    tls = connection.tls
    certificate = proof.certificate or tls.certificate
    if not (tls.authorities or tls.insecure or certificate):
        return _system_context()
    try:
        return _own_context(tls, certificate, proof.key or tls.key)
    except (ssl.SSLError, ValueError) as error:
        raise errors.user_error(
            f"cluster {connection.name}: a certificate or key is not valid PEM, they do not"
            " belong together, or the key is encrypted",
            hint="check certificate-authority, client-certificate and client-key in the kubeconfig",
        ) from error


@cache
def _system_context() -> ssl.SSLContext:
    return ssl.create_default_context()


def _own_context(tls: settings.Tls, certificate: bytes, key: bytes) -> ssl.SSLContext:
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if tls.insecure:
        made.check_hostname = False
        made.verify_mode = ssl.CERT_NONE
    elif tls.authorities:
        made.load_verify_locations(cadata=tls.authorities.decode())
    else:
        made.load_default_certs()
    if certificate:
        _load_pair(made, certificate, key)
    return made


def _load_pair(made: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Load a client certificate: the ssl module reads it from files only."""
    with tempfile.TemporaryDirectory(prefix="volary-") as directory:  # mode 0700
        pair = Path(directory) / "pair.pem"
        pair.touch(mode=0o600)
        pair.write_bytes(certificate.rstrip() + b"\n" + key)
        # Without a password OpenSSL would ask for one on the terminal.
        made.load_cert_chain(pair, password="")
