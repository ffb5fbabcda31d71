"""The fields of the controller's settings file, as pydantic models with a description each."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, ClassVar, Literal

import annotated_types
import pydantic
from pydantic import Field

from volary.config.decoding import base_sections, values
from volary.config.fleet import provider_sections
from volary.config.placement import wave_sections
from volary.config.server import cluster_health_rules, failover_limits
from volary.model import server_settings

Count = Annotated[pydantic.StrictInt, Field(ge=1, le=1_000_000)]
File = Annotated[str, Field(min_length=1)]
#: Never those without a signature or with a shared secret.
Algorithm = Literal["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA"]
_SECRET = "secrets do not belong into this file; write it into a file of its own and name that"


def is_count(metadata: list[object]) -> bool:
    """Say whether a field's metadata is that of `Count`."""
    return any(isinstance(each, annotated_types.Ge) for each in metadata)


class Tls(base_sections.Section):
    """Certificate and key of the server."""

    certificate: File = Field(description="Certificate chain, PEM.")
    key: File = Field(description="Private key, PEM.")


class Credentials(base_sections.Section):
    """How a repository's host is told who asks."""

    misplaced: ClassVar[Mapping[str, str]] = dict.fromkeys(["token", "password", "sshKey"], _SECRET)

    token_file: str = Field(default="", description="https: a file with an access token.")
    username: str = Field(default="", description="https: user name, with `passwordFile`.")
    password_file: str = Field(default="", description="https: a file with the password.")
    ssh_key_file: str = Field(
        default="", description="ssh: a private key without passphrase, with `knownHostsFile`."
    )
    known_hosts_file: str = Field(
        default="",
        description="ssh: the host keys that are believed, as `ssh-keyscan` prints them.",
    )


class Webhook(base_sections.Section):
    """Who may hasten the next look."""

    misplaced: ClassVar[Mapping[str, str]] = {"secret": _SECRET}

    provider: server_settings.WebhookProvider = Field(description="The Git host.")
    secret_file: File = Field(description="A file with the secret that is configured there.")


class RepositoryEntry(base_sections.Section):
    """One watched branch of one repository."""

    name: base_sections.Text = Field(description="Name of the repository, unique in the settings.")
    url: base_sections.Text = Field(
        description="`https://…`, `ssh://…`, `git@host:path`, `file://…` or a path relative to "
        "this file."
    )
    branch: str = Field(default="", description="Empty: the host's default branch.")
    paths: list[values.RelativePath] = Field(
        default_factory=list,
        description="Directories where application files are looked for; empty: everywhere.",
    )
    interval: values.Duration = Field(
        default=timedelta(minutes=1), description="Between two looks, give or take a tenth."
    )
    credentials: Credentials | None = Field(
        default=None, description="Empty: the repository is open to everybody."
    )
    webhook: Webhook | None = Field(default=None, description="Webhooks that hasten the next look.")


class ListedApplication(base_sections.Section):
    """An application that is named instead of found."""

    repository: base_sections.Text = Field(description="Name of a repository above.")
    path: values.RelativePath = Field(
        description="The application's directory or file, relative to the repository's root."
    )
    targets: wave_sections.Targets | None = Field(
        default=None, description="Takes the place of the targets in the application's file."
    )


class Retention(base_sections.Section):
    """How much history is kept."""

    runs: Count = Field(default=50, description="Finished runs kept of each application.")
    days: Count = Field(default=90, description="Days a finished run is kept beyond those.")


class Oidc(base_sections.Section):
    """An issuer of bearer tokens."""

    issuer: base_sections.Text = Field(description="The `iss` of its tokens, an https address.")
    audience: base_sections.Text = Field(description="The `aud` tokens must carry.")
    jwks_file: str = Field(default="", description="Its public keys, as a file.")
    jwks_url: str = Field(
        default="",
        description="Where its public keys are; without both: the issuer's discovery document.",
    )
    groups_claim: base_sections.Text = Field(
        default="groups", description="Claim with the groups roles are given to."
    )
    subject_claim: base_sections.Text = Field(
        default="sub", description="Claim with the name roles are given to and audits show."
    )
    algorithms: list[Algorithm] = Field(
        default_factory=lambda: list[Algorithm](["RS256", "ES256"]),
        description="Signatures that are believed; empty list is an error. Left out: `RS256`, "
        "`ES256`.",
    )


class Auth(base_sections.Section):
    """Who is let in."""

    oidc: Oidc | None = Field(default=None, description="An issuer of bearer tokens.")
    tokens_required: pydantic.StrictBool = Field(
        default=False,
        description="Ask for a token on loopback too, and before the first one was made.",
    )


class Subjects(base_sections.Section):
    """Which applications a role holds for."""

    match_labels: dict[str, str] = Field(
        default_factory=dict, description="Applications that carry all of these labels."
    )


class RoleBinding(base_sections.Section):
    """Gives a role to a person or a group."""

    role: server_settings.Role = Field(description="Everyone with a role may view.")
    subject: str = Field(default="", description="Name of a person or API token.")
    group: str = Field(default="", description="Name of a group; not together with `subject`.")
    applications: Subjects = Field(
        default_factory=Subjects, description="Which applications it holds for; empty: all."
    )


class Route(base_sections.Section):
    """Which events go to a receiver; a list that is left out lets everything pass."""

    name: base_sections.Text = Field(description="Name of the route.")
    receiver: base_sections.Text = Field(description="Name of a receiver.")
    events: list[str] = Field(default_factory=list, description="Only these events.")
    ignore_events: list[str] = Field(default_factory=list, description="Never these events.")
    groups: list[str] = Field(default_factory=list, description="Only these groups of events.")
    ignore_groups: list[str] = Field(default_factory=list, description="Never these groups.")
    apps: list[str] = Field(default_factory=list, description="Only these applications.")
    ignore_apps: list[str] = Field(default_factory=list, description="Never these applications.")
    labels: dict[str, str] = Field(
        default_factory=dict, description="Only applications with all of these labels."
    )
    ignore_labels: dict[str, str] = Field(
        default_factory=dict, description="No application with any of these labels."
    )


class Slack(base_sections.Section):
    """A Slack channel; by `hookURLFile`, or by `oauthTokenFile` with `channelID`."""

    misplaced: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ["hookURL", "oauthToken", "oauthTokenData"], _SECRET
    )

    hook_url_file: str = Field(
        default="", alias="hookURLFile", description="A file with the incoming webhook's address."
    )
    oauth_token_file: str = Field(default="", description="A file with a bot's token.")
    channel_id: str = Field(default="", alias="channelID", description="Id of the channel.")
    mentioned_accounts: list[str] = Field(
        default_factory=list, description="Accounts that are always mentioned."
    )
    mentioned_groups: list[str] = Field(
        default_factory=list, description="Groups that are always mentioned."
    )


class OutgoingWebhook(base_sections.Section):
    """An address that gets events as JSON."""

    misplaced: ClassVar[Mapping[str, str]] = {"signatureValue": _SECRET}

    url: base_sections.Text = Field(description="Where events are posted to.")
    signature_key: base_sections.Text = Field(
        default="Volary-Signature",
        description="Header with `sha256=` and the HMAC-SHA256 of `timestamp.body`, where the"
        " timestamp is that of the header `Volary-Timestamp`.",
    )
    signature_value_file: str = Field(
        default="", description="A file with the secret of the signature; empty: not signed."
    )


class Chat(base_sections.Section):
    """A channel of a chat, by its incoming webhook."""

    misplaced: ClassVar[Mapping[str, str]] = dict.fromkeys(["hookURL", "address", "url"], _SECRET)

    hook_url_file: base_sections.Text = Field(
        alias="hookURLFile", description="A file with the incoming webhook's address."
    )


class Receiver(base_sections.Section):
    """Where events are sent: one of the ways."""

    name: base_sections.Text = Field(description="Name that routes refer to.")
    msteams: Chat | None = Field(default=None, description="A channel of Microsoft Teams.")
    discord: Chat | None = Field(default=None, description="A channel of Discord.")
    rocket: Chat | None = Field(default=None, description="A channel of Rocket.Chat.")
    gchat: Chat | None = Field(default=None, description="A space of Google Chat.")
    slack: Slack | None = Field(default=None, description="A Slack channel.")
    webhook: OutgoingWebhook | None = Field(
        default=None, description="Any address; gets events as JSON."
    )


class Notifications(base_sections.Section):
    """Which events are sent where."""

    routes: list[Route] = Field(
        default_factory=list, description="Every route that matches an event sends it."
    )
    receivers: list[Receiver] = Field(default_factory=list, description="Where to.")


class ControllerFile(base_sections.Section):
    """The settings of `volary server`."""

    api_version: Literal["volary.dev/v1"] = Field(description="Version of the format.")
    kind: Literal["Controller"] = Field(description="What the file describes.")
    fleet: File = Field(description="The fleet file, relative to this file.")
    store: str = Field(
        default="",
        description="`sqlite:FILE` or `postgresql://…`; empty: SQLite in the data directory.",
    )
    data_directory: File = Field(
        default="volary-data", description="Where Git mirrors and the database live."
    )
    listen: base_sections.Text = Field(
        default="127.0.0.1:8080", description="Address and port of the server."
    )
    tls: Tls | None = Field(default=None, description="Serve https.")
    repositories: list[RepositoryEntry] = Field(description="The repositories that drive.")
    applications: list[ListedApplication] = Field(
        default_factory=list,
        description="Applications named by hand, besides those that are found. One that is also "
        "found counts once.",
    )
    supersede: server_settings.Supersede = Field(
        default=server_settings.Supersede.QUEUE,
        description="What a newer commit does to a run under way: wait, or cancel it as long as "
        "nothing touched primary.",
    )
    scripts: Literal["allow", "deny"] = Field(
        default="deny",
        description="Whether scripts of applications (`SCRIPT_RUN`) are run, with this process' "
        "user and network. Who may push to a watched repository then runs programs here.",
    )
    local_webhooks: Literal["allow", "deny"] = Field(
        default="deny",
        description="Whether webhooks and failover witnesses of applications may reach this "
        "machine itself (loopback).",
    )
    failover: failover_limits.Failover = Field(
        default_factory=failover_limits.Failover,
        description="How much is moved away from lost clusters.",
    )
    cluster_health: cluster_health_rules.ClusterHealth = Field(
        default_factory=cluster_health_rules.ClusterHealth, description="How clusters are watched."
    )
    retention: Retention = Field(default_factory=Retention, description="How much history is kept.")
    auth: Auth = Field(default_factory=Auth, description="Who is let in.")
    roles: list[RoleBinding] = Field(default_factory=list, description="Who may do what.")
    notifications: Notifications = Field(
        default_factory=Notifications, description="Who is told what."
    )
    analysis_providers: list[provider_sections.ProviderEntry] = Field(
        default_factory=list,
        description="Systems that are asked for measurements, beside those of the fleet file; of "
        "two with one name this one counts.",
    )
