"""The fields of the controller's settings file."""

from typing import Annotated, Literal

from pydantic import Field

from volary.config.decoding import base_sections
from volary.config.fleet import provider_sections
from volary.model import server_settings
from volary.model.fleet import cluster_health
from volary.model.placement import failover_rules

#: The field is called like its module.
HealthRules = cluster_health.HealthRules
File = Annotated[str, Field(min_length=1)]


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
    tls: server_settings.TlsFiles | None = Field(default=None, description="Serve https.")
    repositories: list[server_settings.Repository] = Field(
        description="The repositories that drive."
    )
    applications: list[server_settings.ListedApplication] = Field(
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
        description="Whether webhooks and external probes (`witness`) of applications may reach "
        "this machine itself (loopback).",
    )
    failover: failover_rules.FailoverLimits = Field(
        default_factory=failover_rules.FailoverLimits,
        description="How much is moved away from lost clusters.",
    )
    cluster_health: HealthRules = Field(
        default_factory=HealthRules, description="How clusters are watched."
    )
    retention: server_settings.Retention = Field(
        default_factory=server_settings.Retention, description="How much history is kept."
    )
    auth: server_settings.Auth = Field(
        default_factory=server_settings.Auth, description="Who is let in."
    )
    roles: list[server_settings.RoleBinding] = Field(
        default_factory=list, description="Who may do what."
    )
    notifications: server_settings.Notifications = Field(
        default_factory=server_settings.Notifications, description="Who is told what."
    )
    analysis_providers: list[provider_sections.ProviderEntry] = Field(
        default_factory=list,
        description="Systems that are asked for measurements, beside those of the fleet file; of "
        "two with one name this one counts.",
    )
