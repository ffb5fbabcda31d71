"""How to reach one API server, after every file has been read."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Tls:
    """How the server proves itself and how the client does."""

    #: PEM; empty: the system's authorities.
    authorities: bytes = b""
    #: PEM certificate chain and key of the client; both or neither.
    certificate: bytes = field(default=b"", repr=False)
    key: bytes = field(default=b"", repr=False)
    #: Name to expect in the server's certificate; empty: the host of the URL.
    server_name: str = ""
    insecure: bool = False


@dataclass(frozen=True, slots=True)
class Anonymous:
    """No credentials beyond a client certificate."""


@dataclass(frozen=True, slots=True)
class Token:
    """A fixed bearer token."""

    token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class TokenFile:
    """A bearer token in a file that is replaced from time to time."""

    path: str
    #: Used while the file holds no token that can be read; empty: none.
    fallback: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Basic:
    """User and password."""

    username: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Exec:
    """A program that prints credentials (client.authentication.k8s.io)."""

    api_version: str
    #: Found on PATH, or relative to the kubeconfig's directory, as kubectl does.
    command: str
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    #: Shown when the program is missing.
    install_hint: str = ""
    #: What the program learns about the cluster; None: nothing.
    cluster_info: Mapping[str, object] | None = None


Credentials = Anonymous | Token | TokenFile | Basic | Exec


@dataclass(frozen=True, slots=True)
class Impersonation:
    """Whom the requests are made for."""

    user: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Connection:
    """One API server and who we are there."""

    #: The cluster's name in the fleet.
    name: str
    #: URL without a slash at the end and without user or password; may have a path.
    server: str
    #: Default namespace of the context.
    namespace: str = "default"
    tls: Tls = field(default_factory=Tls)
    credentials: Credentials = field(default_factory=Anonymous)
    impersonation: Impersonation = field(default_factory=Impersonation)
    #: ``http://…``, perhaps with user and password; empty: none.
    proxy_url: str = field(default="", repr=False)
    #: The socket that leads to its agent, there for as long as one is connected; empty: none does.
    socket: str = ""

    @property
    def place(self) -> str:
        """Where it is, for people."""
        return "through its agent" if self.socket else f"at {self.server}"
