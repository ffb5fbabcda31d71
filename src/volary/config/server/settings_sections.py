"""The fields of the controller's settings file."""

from typing import Annotated, Literal

from pydantic import Field

from volary.config.decoding import base_sections
from volary.config.fleet import provider_sections
from volary.model import options, server_settings
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
    store: str = options.option(
        "`sqlite:FILE` or `postgresql://…`; empty: SQLite in the data directory.", ""
    )
    data_directory: File = options.option("Where Git mirrors and the database live.", "volary-data")
    listen: base_sections.Text = options.option("Address and port of the server.", "127.0.0.1:8080")
    tls: server_settings.TlsFiles | None = options.option("Serve https.", None)
    repositories: list[server_settings.Repository] = Field(
        description="The repositories that drive."
    )
    applications: list[server_settings.ListedApplication] = options.option(
        "Applications named by hand, besides those that are found. One that is also found counts "
        "once.",
        [],
    )
    supersede: server_settings.Supersede = options.option(
        "What a newer commit does to a run under way: wait, or cancel it as long as nothing "
        "touched primary.",
        server_settings.Supersede.QUEUE,
    )
    scripts: Literal["allow", "deny"] = options.option(
        "Whether scripts of applications (`SCRIPT_RUN`) are run, with this process' user and "
        "network. Who may push to a watched repository then runs programs here.",
        "deny",
    )
    local_webhooks: Literal["allow", "deny"] = options.option(
        "Whether webhooks and external probes (`witness`) of applications may reach this machine "
        "itself (loopback).",
        "deny",
    )
    failover: failover_rules.FailoverLimits = options.option(
        "How much is moved away from lost clusters.", failover_rules.FailoverLimits()
    )
    cluster_health: HealthRules = options.option("How clusters are watched.", HealthRules())
    retention: server_settings.Retention = options.option(
        "How much history is kept.", server_settings.Retention()
    )
    auth: server_settings.Auth = options.option("Who is let in.", server_settings.Auth())
    roles: list[server_settings.RoleBinding] = options.option("Who may do what.", [])
    notifications: server_settings.Notifications = options.option(
        "Who is told what.", server_settings.Notifications()
    )
    analysis_providers: list[provider_sections.ProviderEntry] = options.option(
        "Systems that are asked for measurements, beside those of the fleet file; of two with one "
        "name this one counts.",
        [],
    )
