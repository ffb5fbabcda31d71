"""The fields of the controller's settings file."""

from typing import Literal

from pydantic import Field

from volary.config.decoding import base_sections
from volary.config.fleet import provider_sections
from volary.model import options, server_settings
from volary.model.fleet import cluster_health
from volary.model.placement import failover_rules

#: The field is called like its module.
HealthRules = cluster_health.HealthRules


class ControllerFile(base_sections.Section, of=server_settings.Settings):
    """The settings of `volary server`."""

    api_version: Literal["volary.dev/v1"] = Field(description="Version of the format.")
    kind: Literal["Controller"] = Field(description="What the file describes.")
    fleet: base_sections.Text
    store: str = options.option(
        "`sqlite:FILE` or `postgresql://…`; empty: SQLite in the data directory.", ""
    )
    data_directory: base_sections.Text
    listen: base_sections.Text = options.option("Address and port of the server.", "127.0.0.1:8080")
    repositories: list[server_settings.Repository]
    applications: list[server_settings.ListedApplication]
    supersede: server_settings.Supersede
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
    failover: failover_rules.FailoverLimits
    cluster_health: HealthRules
    auth: server_settings.Auth
    roles: list[server_settings.RoleBinding]
    notifications: server_settings.Notifications
    analysis_providers: list[provider_sections.ProviderEntry] = options.option(
        "Systems that are asked for measurements, beside those of the fleet file; of two with one "
        "name this one counts.",
        [],
    )
