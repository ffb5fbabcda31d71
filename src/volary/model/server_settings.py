"""Settings of the controller: what `volary server` reads at its start.

Paths are absolute, or as the user wrote them seen from the settings file's directory.
Files with secrets are named here and read by whoever needs them, so that no secret
lies in a settings object.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Annotated, ClassVar, Literal

from volary.model import applications, drift_rules, metric_providers, options
from volary.model.fleet import cluster_health as fleet_cluster_health
from volary.model.placement import failover_rules

_SECRET = "secrets do not belong into this file; write it into a file of its own and name that"


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """Certificate and key of the server."""

    certificate: Annotated[options.RequiredFile, options.Option("Certificate chain, PEM.")]
    key: Annotated[options.RequiredFile, options.Option("Private key, PEM.")]


@dataclass(frozen=True, slots=True)
class Credentials:
    """How a repository's host is told who asks: `token_file`, for https, where the user name does
    not matter to the hosts; `username` and `password_file`; or `ssh_key_file`, `known_hosts_file`.
    """

    misplaced: ClassVar[Mapping[str, str]] = dict.fromkeys(["token", "password", "sshKey"], _SECRET)

    token_file: options.File = options.option("https: a file with an access token.", "")
    username: str = options.option("https: user name, with `passwordFile`.", "")
    password_file: options.File = options.option("https: a file with the password.", "")
    ssh_key_file: options.File = options.option(
        "ssh: a private key without passphrase, with `knownHostsFile`.", ""
    )
    known_hosts_file: options.File = options.option(
        "ssh: the host keys that are believed, as `ssh-keyscan` prints them.", ""
    )


class WebhookProvider(StrEnum):
    """Git hosts whose webhooks are understood."""

    GITHUB = "github"
    GITLAB = "gitlab"
    GITEA = "gitea"
    BITBUCKET = "bitbucket"


@dataclass(frozen=True, slots=True)
class RepositoryWebhook:
    """Who may hasten the next look at a repository."""

    misplaced: ClassVar[Mapping[str, str]] = {"secret": _SECRET}

    provider: Annotated[WebhookProvider, options.Option("The Git host.")]
    secret_file: Annotated[
        options.RequiredFile, options.Option("A file with the secret that is configured there.")
    ]


@dataclass(frozen=True, slots=True)
class Repository:
    """One watched branch of one repository."""

    name: Annotated[options.Text, options.Option("Name of the repository, unique in the settings.")]
    #: Never with a password in it.
    url: Annotated[
        options.Text,
        options.Option(
            "`https://…`, `ssh://…`, `git@host:path`, `file://…` or a path relative to this file."
        ),
    ]
    branch: str = options.option("Empty: the host's default branch.", "")
    paths: tuple[options.Path, ...] = options.option(
        "Directories where application files are looked for; empty: everywhere.", ()
    )
    interval: timedelta = options.option(
        "Between two looks, give or take a tenth.", timedelta(minutes=1)
    )
    credentials: Credentials | None = options.option(
        "Empty: the repository is open to everybody.", None
    )
    webhook: RepositoryWebhook | None = options.option("Webhooks that hasten the next look.", None)


@dataclass(frozen=True, slots=True)
class ListedApplication:
    """An application that is named instead of found."""

    repository: Annotated[options.Text, options.Option("Name of a repository above.")]
    path: Annotated[
        options.Path,
        options.Option("The application's directory or file, relative to the repository's root."),
    ]
    targets: applications.TargetSelector | None = options.option(
        "Takes the place of the targets in the application's file.", None
    )


class Supersede(StrEnum):
    """What a newer commit does to a run under way."""

    QUEUE = "queue"
    #: Cancel the run when nothing touched primary yet.
    CANCEL = "cancel"


@dataclass(frozen=True, slots=True)
class Retention:
    """How much history is kept.

    A finished run is removed, with its events and logs, once it is beyond both limits; the
    newest that succeeded stays always. The audit is kept twice as long.
    """

    runs: int = options.option(
        "Finished runs kept of each application.", 50, least=1, most=1_000_000
    )
    days: int = options.option(
        "Days a finished run is kept beyond those.", 90, least=1, most=1_000_000
    )


#: Never those without a signature or with a shared secret.
Algorithm = Literal[
    "RS256",
    "RS384",
    "RS512",
    "PS256",
    "PS384",
    "PS512",
    "ES256",
    "ES384",
    "ES512",
    "EdDSA",
]


@dataclass(frozen=True, slots=True)
class Oidc:
    """An issuer of bearer tokens, and of logins in the browser where `client_id` is given."""

    misplaced: ClassVar[Mapping[str, str]] = {"clientSecret": _SECRET}

    issuer: Annotated[options.Text, options.Option("The `iss` of its tokens, an https address.")]
    audience: Annotated[options.Text, options.Option("The `aud` tokens must carry.")]
    jwks_file: options.File = options.option("Its public keys, as a file.", "")
    jwks_url: str = options.option(
        "Where its public keys are; without both: the issuer's discovery document.", ""
    )
    groups_claim: options.Text = options.option(
        "Claim with the groups roles are given to.", "groups"
    )
    subject_claim: options.Text = options.option(
        "Claim with the name roles are given to and audits show, after `oidc:`.", "sub"
    )
    algorithms: tuple[Algorithm, ...] = options.option(
        "Signatures that are believed; empty list is an error. Left out: `RS256`, `ES256`.",
        ("RS256", "ES256"),
    )
    client_id: str = options.option(
        "This server as the issuer knows it: people then log in there from the browser; needs "
        "`url`. Empty: no login in the browser but with an API token.",
        "",
    )
    client_secret_file: options.File = options.option(
        "A file with the secret that the issuer gave to `clientId`; empty: it gave none (a public "
        "client).",
        "",
    )
    scopes: tuple[options.Text, ...] = options.option(
        "What the issuer is asked for at a login in the browser, besides `openid`: with many "
        "issuers groups are in the ID token only if asked for.",
        ("profile",),
    )


@dataclass(frozen=True, slots=True)
class Sessions:
    """How long somebody stays logged in in a browser."""

    idle: timedelta = options.option("Without a request.", timedelta(hours=12))
    longest: timedelta = options.option(
        "In any case; groups of `oidc` are those of the login until then.", timedelta(hours=24)
    )


@dataclass(frozen=True, slots=True)
class Auth:
    """Whose tokens are believed, besides the API tokens of the server itself."""

    oidc: Oidc | None = options.option("An issuer of bearer tokens and logins.", None)
    sessions: Sessions = options.option("Logins in the browser.", Sessions())


class Authentication(StrEnum):
    """Whether requests need credentials."""

    REQUIRED = "required"
    #: Not those of this machine itself, as long as there are no API tokens.
    NONE = "none"


class Role(StrEnum):
    """What somebody may do. Everyone may view; approving is apart from deploying; admins do all."""

    VIEWER = "viewer"
    DEPLOYER = "deployer"
    APPROVER = "approver"
    #: Deploys, and lets single runs through closed windows.
    RESPONDER = "responder"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class Subjects:
    """Which applications a role holds for."""

    match_labels: Mapping[str, str] = options.option(
        "Applications that carry all of these labels. They are what each application's own file "
        "says: where teams do not trust each other, give roles by project.",
        {},
    )
    projects: tuple[options.Text, ...] = options.option(
        "Applications of one of these projects, by name; empty: of every project, and of none.", ()
    )


@dataclass(frozen=True, slots=True)
class RoleBinding:
    """Gives a role to a person or a group."""

    role: Annotated[Role, options.Option("Everyone with a role may view.")]
    subject: str = options.option(
        "A person of the issuer, `oidc:ana@example.org`, or an API token, `token:ci`.", ""
    )
    group: str = options.option("Name of a group; not together with `subject`.", "")
    applications: Subjects = options.option(
        "Which applications it holds for; empty: all.", Subjects()
    )


@dataclass(frozen=True, slots=True)
class Route:
    """Which events go to a receiver; a list that is left out lets everything pass."""

    name: Annotated[options.Text, options.Option("Name of the route.")]
    receiver: Annotated[options.Text, options.Option("Name of a receiver.")]
    events: tuple[str, ...] = options.option("Only these events.", ())
    ignore_events: tuple[str, ...] = options.option("Never these events.", ())
    groups: tuple[str, ...] = options.option("Only these groups of events.", ())
    ignore_groups: tuple[str, ...] = options.option("Never these groups.", ())
    apps: tuple[str, ...] = options.option("Only these applications.", ())
    ignore_apps: tuple[str, ...] = options.option("Never these applications.", ())
    projects: tuple[str, ...] = options.option(
        "Only applications of these projects; in a project's own routes always that one.", ()
    )
    labels: Mapping[str, str] = options.option("Only applications with all of these labels.", {})
    ignore_labels: Mapping[str, str] = options.option(
        "No application with any of these labels.", {}
    )


@dataclass(frozen=True, slots=True)
class Slack:
    """A Slack channel; by `hookURLFile`, or by `oauthTokenFile` with `channelID`."""

    misplaced: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ["hookURL", "oauthToken", "oauthTokenData"], _SECRET
    )

    hook_url_file: options.File = options.option(
        "A file with the incoming webhook's address.", "", key="hookURLFile"
    )
    oauth_token_file: options.File = options.option("A file with a bot's token.", "")
    channel_id: str = options.option("Id of the channel.", "", key="channelID")
    mentioned_accounts: tuple[str, ...] = options.option("Accounts that are always mentioned.", ())
    mentioned_groups: tuple[str, ...] = options.option("Groups that are always mentioned.", ())


@dataclass(frozen=True, slots=True)
class OutgoingWebhook:
    """An address that gets events as JSON."""

    misplaced: ClassVar[Mapping[str, str]] = {"signatureValue": _SECRET}

    url: Annotated[options.Text, options.Option("Where events are posted to.")]
    signature_key: options.Text = options.option(
        "Header with `sha256=` and the HMAC-SHA256 of `timestamp.body`, where the timestamp is "
        "that of the header `Volary-Timestamp`.",
        "Volary-Signature",
    )
    signature_value_file: options.File = options.option(
        "A file with the secret of the signature; empty: not signed.", ""
    )


class ChatKind(StrEnum):
    """Chats that take posts at an incoming webhook; the words are Flagger's."""

    TEAMS = "msteams"
    DISCORD = "discord"
    ROCKET = "rocket"
    GOOGLE = "gchat"


@dataclass(frozen=True, slots=True)
class Chat:
    """A channel of a chat, by its incoming webhook."""

    misplaced: ClassVar[Mapping[str, str]] = dict.fromkeys(["hookURL", "address", "url"], _SECRET)

    #: The address is a secret of its own.
    hook_url_file: Annotated[
        options.RequiredFile,
        options.Option("A file with the incoming webhook's address.", key="hookURLFile"),
    ]


@dataclass(frozen=True, slots=True)
class Receiver:
    """Where events are sent: one of the ways."""

    name: Annotated[options.Text, options.Option("Name that routes refer to.")]
    msteams: Chat | None = options.option("A channel of Microsoft Teams.", None)
    discord: Chat | None = options.option("A channel of Discord.", None)
    rocket: Chat | None = options.option("A channel of Rocket.Chat.", None)
    gchat: Chat | None = options.option("A space of Google Chat.", None)
    slack: Slack | None = options.option("A Slack channel.", None)
    webhook: OutgoingWebhook | None = options.option("Any address; gets events as JSON.", None)

    @property
    def chats(self) -> Mapping[ChatKind, Chat]:
        """The channels of other chats than Slack; at most one in checked settings."""
        given = {
            ChatKind.TEAMS: self.msteams,
            ChatKind.DISCORD: self.discord,
            ChatKind.ROCKET: self.rocket,
            ChatKind.GOOGLE: self.gchat,
        }
        return {kind: chat for kind, chat in given.items() if chat is not None}


@dataclass(frozen=True, slots=True)
class Notifications:
    """Which events are sent where."""

    routes: tuple[Route, ...] = options.option("Every route that matches an event sends it.", ())
    receivers: tuple[Receiver, ...] = options.option("Where to.", ())


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of the server those may take who connect to it."""

    connections: int = options.option(
        "Connections at once. Fewer where half of the file descriptors that the process may have "
        "are fewer: the rest is for the database, Git and clusters.",
        2000,
        least=16,
        most=30_000,
    )
    connections_per_address: int = options.option(
        "Of those, connections of one address, for IPv6 of one /64 network; at most half. An "
        "address of this machine itself may have three quarters of all.",
        200,
        least=8,
        most=30_000,
    )
    streams_per_person: int = options.option(
        "Event streams that one person or API token may have open.", 50, least=1, most=30_000
    )
    proxies: tuple[str, ...] = options.option(
        "Networks of reverse proxies and load balancers, such as `10.0.0.0/8`: their addresses "
        "stand for many people, so no limit of one address holds for them. Limit each address "
        "there. `X-Forwarded-For` is not believed.",
        (),
    )


@dataclass(frozen=True, slots=True)
class Sops:
    """Keys that files of SOPS are decrypted with; the real program `sops` does it."""

    misplaced: ClassVar[Mapping[str, str]] = dict.fromkeys(["ageKey", "age", "pgp"], _SECRET)

    age_key_file: options.File = options.option("A file with private keys of age.", "")
    gnupg_home: options.File = options.option("A directory with a keyring of GnuPG.", "")
    environment: tuple[options.Text, ...] = options.option(
        "Variables of the server that `sops` is given, and no others: for cloud key services those "
        "with its credentials (`AWS_…`, `GOOGLE_…`, `AZURE_…`, `VAULT_ADDR` and `VAULT_TOKEN`), "
        "also `SOPS_AGE_KEY`. Only with such credentials it may use the network.",
        (),
    )


@dataclass(frozen=True, slots=True)
class KeyPair:
    """The key pair of PipeCD's encrypted values (`spec.encryption`); RSA, in PEM."""

    misplaced: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ["privateKeyData", "publicKeyData"], _SECRET
    )

    private_key_file: options.File = options.option("The private key, without a passphrase.", "")
    public_key_file: options.File = options.option(
        "The public key, for `volary encrypt` on machines without the private one.", ""
    )


@dataclass(frozen=True, slots=True)
class Secrets:
    """What opens the secrets in Git; never kept in a repository that is watched."""

    sops: Sops = options.option("Files of SOPS.", Sops())
    key_pair: KeyPair = options.option("Encrypted values as PipeCD has them.", KeyPair())


@dataclass(frozen=True, slots=True)
class ProjectFiles:
    """Where the files of projects and workspaces are: beside the settings, or in Git."""

    files: tuple[options.File, ...] = options.option(
        "Files of kind `Project` and `Workspace`, read at the start.", ()
    )
    repository: str = options.option(
        "Name of a repository above that only those may push to who decide what teams may do; the "
        "YAML files of `path` are read at each new commit.",
        "",
    )
    path: options.Path = options.option("A directory of that repository.", "")


@dataclass(frozen=True, slots=True)
class Tracing:
    """Where traces are sent; needs the extra `otel`."""

    misplaced: ClassVar[Mapping[str, str]] = dict.fromkeys(["token", "headers"], _SECRET)

    endpoint: Annotated[
        options.Text,
        options.Option(
            "Base address of a collector that takes OTLP over HTTP, such as "
            "`http://127.0.0.1:4318`; `/v1/traces` is added."
        ),
    ]
    token_file: options.File = options.option(
        "A file with a token that is sent along as `Authorization: Bearer`; over https, or to this "
        "machine.",
        "",
    )
    ca_file: options.File = options.option(
        "A file with the authorities whose certificates are trusted; empty: those of the system.",
        "",
    )
    sampled: int = options.option(
        "Of 100 runs and requests, how many are traced; a run is traced whole or not at all.",
        100,
        least=0,
        most=100,
    )


@dataclass(frozen=True, slots=True)
class TemporalTls:
    """How the connection to Temporal is secured; empty fields: as the machine believes."""

    ca_file: options.File = options.option(
        "Certificates that are believed, PEM; empty: those of the machine.", ""
    )
    certificate_file: options.File = options.option(
        "This server's certificate, PEM, with `keyFile`.", ""
    )
    key_file: options.File = options.option("Its private key, PEM.", "")
    server_name: str = options.option(
        "The name that Temporal's certificate is for, where it is not that of the address.", ""
    )


class Workers(StrEnum):
    """Who carries out the tasks on clusters without an agent."""

    CENTRAL = "central"
    APART = "apart"


@dataclass(frozen=True, slots=True)
class Temporal:
    """A Temporal service that carries runs out."""

    misplaced: ClassVar[Mapping[str, str]] = {"apiKey": _SECRET}

    address: Annotated[options.Text, options.Option("`host:port` of its frontend.")]
    namespace: options.Text = options.option(
        "A namespace that belongs to this installation alone.", "default"
    )
    tls: TemporalTls | None = options.option(
        "Secure the connection. Left out: it is not, which only an address of loopback may.", None
    )
    api_key_file: options.File = options.option(
        "A file with a key of its API, sent with each call; needs `tls`.", ""
    )
    heartbeat: timedelta = options.option(
        "After how long without a word a task is begun again elsewhere.", timedelta(seconds=30)
    )
    workers: Workers = options.option(
        "Who carries out what is done on clusters without an agent: `central`, the leading server; "
        "`apart`, processes of `volary worker`.",
        Workers.CENTRAL,
    )


@dataclass(frozen=True, slots=True)
class Engine:
    """Who carries runs out."""

    temporal: Temporal | None = options.option(
        "A Temporal service; needs the extra `temporal`. Left out: the leading server itself does.",
        None,
    )


@dataclass(frozen=True, slots=True)
class Agents:
    """What agents beside clusters are told."""

    signing_key_file: options.File = options.option(
        "The key by which orders to agents are signed, a private key of Ed25519 (PEM, mode 0600); "
        "several servers of one store share it. Left out: it is made in the data directory.",
        "",
    )


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything `volary server` is told."""

    fleet: Annotated[options.Text, options.Option("The fleet file, relative to this file.")]
    data_directory: options.Text = options.option(
        "Where Git mirrors and the database live.", "volary-data"
    )
    #: Address as `store.factory` reads it. A secret: a PostgreSQL address may hold a password.
    store: str = ""
    host: str = "127.0.0.1"
    port: int = 8080
    tls: TlsFiles | None = options.option("Serve https.", None)
    url: str = options.option(
        "Where people open this server in their browser, such as `https://volary.example.org`: "
        "needed for logins of `auth.oidc.clientId`, and behind a proxy that serves https.",
        "",
    )
    advertise: str = options.option(
        "Where other processes reach this one server, such as `https://10.0.0.7:8443`, where there "
        "are several of one database: `volary get servers` shows it, and agents connect to each "
        "server there. Empty: the address of `listen`, or the name of the machine where that is "
        "every address; agents connect to no server but the one that they were told.",
        "",
    )
    ui: bool = options.option("Whether the web UI is served.", True)
    repositories: tuple[Repository, ...] = options.option(
        "The repositories that drive.", (), required=True
    )
    applications: tuple[ListedApplication, ...] = options.option(
        "Applications named by hand, besides those that are found. One that is also "
        "found counts once.",
        (),
    )
    projects: ProjectFiles = options.option("What each team may do.", ProjectFiles())
    supersede: Supersede = options.option(
        "What a newer commit does to a run under way: wait, or cancel it as long as "
        "nothing touched primary.",
        Supersede.QUEUE,
    )
    drift_detection: drift_rules.DriftMode = options.option(
        "What is done where clusters are not as Git says, for applications whose file does not say "
        "so: `off`, `report` or `repair`.",
        drift_rules.DriftMode.REPORT,
    )
    #: Run the scripts of applications (``SCRIPT_RUN``) on this machine.
    scripts: bool = False
    #: Let webhooks of applications reach this machine itself.
    local_webhooks: bool = False
    #: Render with programs only where they can be kept from the network.
    isolates_renderers: bool = True
    failover: failover_rules.FailoverLimits = options.option(
        "How much is moved away from lost clusters.", failover_rules.FailoverLimits()
    )
    cluster_health: fleet_cluster_health.HealthRules = options.option(
        "How clusters are watched.", fleet_cluster_health.HealthRules()
    )
    engine: Engine = options.option("Who carries runs out.", Engine())
    agents: Agents = options.option("What agents beside clusters are told.", Agents())
    retention: Retention = options.option("How much history is kept.", Retention())
    limits: Limits = options.option(
        "How much of the server those may take who connect to it.", Limits()
    )
    authentication: Authentication = options.option(
        "`none`: as long as there are no API tokens, whoever is on this machine may do everything; "
        "only with an address of loopback, and without `auth.oidc`.",
        Authentication.REQUIRED,
    )
    auth: Auth = options.option("Who is let in.", Auth())
    roles: tuple[RoleBinding, ...] = options.option("Who may do what.", ())
    notifications: Notifications = options.option("Who is told what.", Notifications())
    secrets: Secrets = options.option("What opens the secrets in Git.", Secrets())
    tracing: Tracing | None = options.option("Where traces are sent; empty: nowhere.", None)
    #: Systems that are asked for measurements; they go before the fleet's of the same name.
    providers: tuple[metric_providers.Provider, ...] = ()
