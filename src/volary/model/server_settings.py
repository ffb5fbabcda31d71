"""Settings of the controller: what `volary server` reads at its start.

Paths are absolute, or as the user wrote them seen from the settings file's directory.
Files with secrets are named here and read by whoever needs them, so that no secret
lies in a settings object.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum

from volary.model import applications, metric_providers
from volary.model.fleet import cluster_health as fleet_cluster_health
from volary.model.placement import failover_rules


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """Certificate chain and private key of the server, PEM."""

    certificate: str
    key: str


@dataclass(frozen=True, slots=True)
class TokenCredentials:
    """An access token for https; the user name does not matter to the hosts."""

    token_file: str


@dataclass(frozen=True, slots=True)
class BasicCredentials:
    """User name and password for https."""

    username: str
    password_file: str


@dataclass(frozen=True, slots=True)
class KeyCredentials:
    """A private key for ssh, and the host keys that are believed."""

    ssh_key_file: str
    known_hosts_file: str


Credentials = TokenCredentials | BasicCredentials | KeyCredentials


class WebhookProvider(StrEnum):
    """Git hosts whose webhooks are understood."""

    GITHUB = "github"
    GITLAB = "gitlab"
    GITEA = "gitea"
    BITBUCKET = "bitbucket"


@dataclass(frozen=True, slots=True)
class RepositoryWebhook:
    """Who may hasten the next look at a repository."""

    provider: WebhookProvider
    secret_file: str


@dataclass(frozen=True, slots=True)
class Repository:
    """One watched branch of one repository."""

    #: Unique in the settings.
    name: str
    #: https, ssh (also ``user@host:path``), file:// or a path; never with a password in it.
    url: str
    #: Empty: the branch the host names as its default.
    branch: str = ""
    #: Directories in the repository where application files are looked for; empty: everywhere.
    paths: tuple[str, ...] = ()
    #: Between two looks, give or take a tenth.
    interval: timedelta = timedelta(minutes=1)
    credentials: Credentials | None = None
    webhook: RepositoryWebhook | None = None


@dataclass(frozen=True, slots=True)
class ListedApplication:
    """An application named in the settings instead of being found."""

    #: Name of a repository of the settings.
    repository: str
    #: Its directory or file, relative to the root of the repository.
    path: str
    #: Takes the place of the targets in its file; None: those of the file.
    targets: applications.TargetSelector | None = None


class Supersede(StrEnum):
    """What a newer commit does to a run under way."""

    QUEUE = "queue"
    #: Cancel the run when nothing touched primary yet.
    CANCEL = "cancel"


@dataclass(frozen=True, slots=True)
class Retention:
    """How much history is kept.

    A finished run is removed, with its events and logs, once it is beyond both limits; the
    newest that succeeded stays always. The audit is kept twice as long as `age`.
    """

    #: Finished runs of each application.
    runs: int = 50
    age: timedelta = timedelta(days=90)


@dataclass(frozen=True, slots=True)
class Oidc:
    """An issuer whose bearer tokens are believed."""

    issuer: str
    audience: str
    #: One of the two; both empty: found through the issuer's discovery document.
    jwks_file: str = ""
    jwks_url: str = ""
    #: Claim with the person's groups.
    groups_claim: str = "groups"
    #: Claim with the person's name, as it is written into the audit.
    subject_claim: str = "sub"
    algorithms: tuple[str, ...] = ("RS256", "ES256")


@dataclass(frozen=True, slots=True)
class Auth:
    """Who is let in."""

    oidc: Oidc | None = None
    #: Also on loopback nobody gets in without a token. False: loopback may do everything as
    #: long as there are no tokens and no issuer.
    tokens_required: bool = False


class Role(StrEnum):
    """What somebody may do. Everyone may view; approving is apart from deploying; admins do all."""

    VIEWER = "viewer"
    DEPLOYER = "deployer"
    APPROVER = "approver"
    #: Deploys, and lets single runs through closed windows.
    RESPONDER = "responder"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class RoleBinding:
    """Gives a role to one subject or one group."""

    role: Role
    #: One of the two.
    subject: str = ""
    group: str = ""
    #: Applications it holds for, by their labels; empty: all.
    match_labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Route:
    """Which events go to a receiver (PipeCD: 8.5); empty lists let everything pass."""

    name: str
    receiver: str
    events: tuple[str, ...] = ()
    ignore_events: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    ignore_groups: tuple[str, ...] = ()
    apps: tuple[str, ...] = ()
    ignore_apps: tuple[str, ...] = ()
    #: All must be there.
    labels: Mapping[str, str] = field(default_factory=dict)
    #: Any keeps the event back.
    ignore_labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Slack:
    """A Slack channel: by an incoming webhook, or by a bot's token and channel."""

    #: The address is a secret of its own.
    hook_url_file: str = ""
    oauth_token_file: str = ""
    channel_id: str = ""
    mentioned_accounts: tuple[str, ...] = ()
    mentioned_groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OutgoingWebhook:
    """An address that gets events as JSON, signed with HMAC-SHA256."""

    url: str
    signature_key: str = "Volary-Signature"
    #: The secret of the signature; empty: not signed.
    signature_value_file: str = ""


class ChatKind(StrEnum):
    """Chats that take posts at an incoming webhook; the words are Flagger's."""

    TEAMS = "msteams"
    DISCORD = "discord"
    ROCKET = "rocket"
    GOOGLE = "gchat"


@dataclass(frozen=True, slots=True)
class Chat:
    """A channel of another chat than Slack, by an incoming webhook."""

    kind: ChatKind
    #: The address is a secret of its own.
    hook_url_file: str


@dataclass(frozen=True, slots=True)
class Receiver:
    """Where events are sent: exactly one of the three."""

    name: str
    slack: Slack | None = None
    webhook: OutgoingWebhook | None = None
    chat: Chat | None = None


@dataclass(frozen=True, slots=True)
class Notifications:
    """Which events are sent where."""

    routes: tuple[Route, ...] = ()
    receivers: tuple[Receiver, ...] = ()


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything `volary server` is told."""

    #: Path of the fleet file.
    fleet: str
    #: Where mirrors and the default database live.
    data_directory: str
    #: Address as `store.opening` reads it. A secret: a PostgreSQL address may hold a password.
    store: str
    host: str = "127.0.0.1"
    port: int = 8080
    tls: TlsFiles | None = None
    repositories: tuple[Repository, ...] = ()
    applications: tuple[ListedApplication, ...] = ()
    supersede: Supersede = Supersede.QUEUE
    #: Run the scripts of applications (``SCRIPT_RUN``) on this machine.
    scripts: bool = False
    #: Let webhooks of applications reach this machine itself.
    local_webhooks: bool = False
    #: How clusters are watched.
    cluster_health: fleet_cluster_health.HealthRules = field(
        default_factory=fleet_cluster_health.HealthRules
    )
    #: How much is moved away from lost clusters.
    failover: failover_rules.FailoverLimits = field(default_factory=failover_rules.FailoverLimits)
    retention: Retention = field(default_factory=Retention)
    auth: Auth = field(default_factory=Auth)
    roles: tuple[RoleBinding, ...] = ()
    notifications: Notifications = field(default_factory=Notifications)
    #: Systems that are asked for measurements; they go before the fleet's of the same name.
    providers: tuple[metric_providers.Provider, ...] = ()
