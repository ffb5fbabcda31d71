"""Writes the reference pages of the files users write from their models.

``python -m volary.config.generated.reference_pages application`` prints a page; a test compares the
committed pages with what is printed.
"""

import sys
import types
import typing
from collections.abc import Iterable, Iterator
from datetime import timedelta
from enum import StrEnum
from typing import Any

import annotated_types
import pydantic
from pydantic import fields

from volary.config.agents import policy_files
from volary.config.application import application_sections
from volary.config.decoding import base_sections, readings, values
from volary.config.fleet import fleet_files, provider_configs
from volary.config.projects import project_files
from volary.config.server import notification_routes, settings_files
from volary.config.stages import query_placeholders, stage_entries, stage_sections
from volary.config.workspaces import workspace_files
from volary.model import applications
from volary.model.pipeline.stage_kinds import catalog, rollout_stages, stage_kind
from volary.model.placement import rollouts

_APPLICATION = """\
# Application file

Made from the models in `src/volary/config`; change those, not this page.

An application file is named `app.pipecd.yaml`, `*.pipecd.yaml` or `volary.yaml` and lies in the
application's directory. It is written in one of these dialects, told apart by `apiVersion`:

| `apiVersion` | Dialect |
|---|---|
| `volary.dev/v1` | Flat and strict: unknown fields, and fields of PipeCD that are not carried out yet, are errors |
| `pipecd.dev/v1beta1` | PipeCD's schema, read by PipeCD's rules: keys in any case, zero values get the default, unknown fields are ignored. Whatever is ignored is a warning that names it; what would change what is deployed, or where, is an error ([field by field](pipecd-fields.md)) |
| `flagger.app/v1beta1` | A `Canary` of Flagger's, in a file of any name: read as the file of ours that `volary convert flagger` prints ([field by field](flagger-fields.md)) |
| `policy.karmada.io/v1alpha1` | Policies of Karmada's: what chooses clusters, divides replicas and overrides for the objects beside them ([point by point](../how-to/coming-from-karmada.md)) |

In PipeCD's dialect the fields marked *Kubernetes* below stand under
`spec.plugins.kubernetes_multicluster` (or `spec.plugins.kubernetes`), and `name` and `labels` under
`spec`. There are no `targets`: every cluster of the fleet, or those in `input.multiTargets`.

## Forms of values

| Form | Written |
|---|---|
| duration | `30s`, `5m`, `1h30m`, `300ms`; a number is nanoseconds, as in PipeCD (below one second an error in our dialect, a warning in PipeCD's) |
| replicas | `2`, `"2"` pods or `10%` of the workload's replicas, rounded up. `150%` is allowed, with a warning, up to `1000%`; negative numbers are errors; `0` is PipeCD's way to say the default (a warning), and an error in our dialect |
| percentage | `10`, `"10"` or `10%`, whole, from 0 to 100 |
| path | relative to the application's directory, with `/`, inside the repository |

YAML is read as kubectl reads it (`on` and `y` are booleans, `0644` is 420); duplicate keys are errors.
"""  # noqa: E501 (a row of a table is one line)

_STAGES = """\
## Stages

A stage has the fields of `pipeline.stages[]` above; its options stand under `with`. `K8S_MULTI_*`
means the same as `K8S_*`. `K8S_ROLLBACK` must not be listed. Unknown stages are errors in both
dialects: passing over them in silence would be dangerous.

Weights must add up to 100. In PipeCD's dialect with `method: istio`, `primary` may be left out and
takes the rest. With `podselector` either primary or canary must be 100 and baseline 0.
"""

_NOT_YET = """\
## Known, not carried out yet

These fields of PipeCD (and of later versions) are errors in our dialect. In PipeCD's they are
errors where they change what is deployed or where, else warnings: [every field](pipecd-fields.md).

| Field | Would do |
|---|---|
"""

_FLEET = """\
# Fleet file

Made from the models in `src/volary/config`; change those, not this page.

A fleet file names the clusters and says how to reach each. `--contexts us,eu` stands for a fleet of
contexts of the ordinary kubeconfig, and PipeCD's piped file (`kind: Piped`) is read too: the
`deployTargets` of its Kubernetes plugins are the clusters, `kubeConfigPath` their kubeconfig.

```yaml
apiVersion: volary.dev/v1
kind: Fleet
clusters:
  - name: us
    labels: {region: us, env: prod}
    kubeconfig: us.kubeconfig
  - name: eu
    labels: {region: eu, env: prod}
    context: eu-admin
```

## Fields
"""

_PROVIDERS = """\
## Analysis providers

`analysisProviders[].config` by type. Secrets are never written into the file: every `…File` names a
file that holds one, every `…Env` a variable of the environment; both are read for each query, so that
new ones count at once. Of `tokenFile`, `tokenEnv` and a user name with a password, one is used. The
controller's settings have the same list.
"""  # noqa: E501 (as wide as the page)
#: Lines of a table without rows, and its title.
_EMPTY_TABLE = 4

_CONTROLLER = """\
# Controller settings

Made from the models in `src/volary/config`; change those, not this page.

`volary server --config volary-controller.yaml` reads this file. Relative paths start at the file's
directory. Secrets are never written into it: every `…File` names a file that holds one, and a line
break at its end does not count. Durations are written `30s`, `5m` or `1h30m`.

The shortest file watches one repository and keeps everything beside itself:

```yaml
apiVersion: volary.dev/v1
kind: Controller
fleet: fleet.yaml
repositories:
  - name: shop
    url: https://git.example/shop.git
    branch: main
```

Certificates of https hosts are checked with the authorities of the system; `SSL_CERT_FILE` in the
environment names others. Redirects are not followed: write the address they lead to. ssh needs the
programs `git` and `ssh`.

## Fields
"""

_AGENT_POLICY = """\
# Policy file of an agent

Made from the models in `src/volary/config`; change those, not this page.

What the owner of a cluster permits the agent there. It lies beside the agent, in the cluster, and
wins over whatever a server asks for: what it does not say is refused. The agent reads it again
when it changed, and permits nothing while it cannot be read.
[How to join a cluster](../how-to/agents.md) shows where it goes, and `volary schema agentpolicy`
prints its JSON Schema.

```yaml
apiVersion: volary.dev/v1
kind: AgentPolicy
spec:
  read: {secrets: false}
  impersonate: ["system:serviceaccount:team-a:deployer"]
  rules:
  - projects: [team-a]
    namespaces: [team-a]
    kinds: ["apps/*", Service, ConfigMap]
```

A task, and each of its writes, is permitted when one rule permits everything that it is about. Two
rules are never put together. Whatever `read` says, servers learn the version and the health of the
cluster and which kinds it serves; they may ask what the agent's account may do; and they may try
writes that are not carried out (`dryRun=All`) where they may read. They may never write, run
something in a pod, forward its ports or reach it through the API server.

## Fields
"""

_WORKSPACE = """\
# Workspace file

Made from the models in `src/volary/config`; change those, not this page.

A workspace is what the team of a project gets on each cluster that it shares with others: its
namespaces, whom its deployments are done as, who has access, how much it may have, and a network
that is closed to the others. [How to give teams workspaces](../how-to/workspaces.md) shows one.

```yaml
apiVersion: volary.dev/v1
kind: Workspace
metadata: {name: team-a}
spec:
  project: team-a
  clusters: {matchLabels: {env: prod}}
  namespaces:
  - name: shop
  members:
  - {group: team-a-developers, role: edit}
  quota: {hard: {pods: 50, requests.cpu: "20"}}
```

## Objects

In each namespace:

| Object | From |
|---|---|
| Namespace | `namespaces[]`, with the labels `pod-security.kubernetes.io/enforce`, `audit` and `warn` of `podSecurity` |
| ServiceAccount, in the first namespace only | `deployer.serviceAccount`; no token of it is mounted into pods |
| Role and RoleBinding `volary-deployer` | `deployer` |
| Roles and RoleBindings `volary-view`, `volary-edit`, `volary-admin`, `volary-member-…` | `members` |
| ResourceQuota `volary-quota` | `quota` |
| LimitRange `volary-limits` | `limits` |
| NetworkPolicy `volary-isolation` | `network` |

All have the label `volary.dev/workspace`, and the marks by which Volary knows
[its objects](annotations.md). The namespaces of a workspace may exchange traffic with each other.

## What the roles permit

Rules of Volary's own, and not the ClusterRoles of the same names, which grow with what is installed.

| Role | Permits, in each namespace |
|---|---|
| `view` | reading workloads, pods and their logs, configuration, routes, events, quotas, limits and network policies; no Secrets, nothing of RBAC |
| `edit` | besides: changing workloads, pods, Services, ServiceAccounts, ConfigMaps, Secrets, claims, Ingresses, autoscalers and disruption budgets; `exec`, `attach` and `port-forward` |
| `admin` | besides: changing network policies, Roles and RoleBindings, though API servers let nobody grant more than they have |
| the deployer | what `edit` does, but for `exec`, `attach`, `port-forward` and leases |

Nobody of them changes the namespace, its quota or its limits. What an `admin` changes of the
workspace's own objects is put back.

Whoever may start pods in a namespace can act as any ServiceAccount in it, and Kubernetes has no way
to forbid that. So `deployer.rules` that say more than `edit` does give that to everybody with `edit`
in the first namespace; with `deployer.user` there is no ServiceAccount that they could use.

## Fields
"""  # noqa: E501 (a row of a table is one line)

_NOTICES = """\
## Events

| Group | Events |
|---|---|
"""


_PROJECT = """\
# Project files

Made from the models in `src/volary/config`; change those, not this page.

What each of several teams may do on a server that they share: [how to](../how-to/projects.md). A file
has one or more documents. The settings of the server say where such files are
([`projects`](controller.md)): beside the settings, where they are read at the start, or as `*.yaml`
and `*.yml` in a directory of a repository, and in directories below it, where they are read at each
new commit.

```yaml
apiVersion: volary.dev/v1
kind: Project
metadata: {name: team-a}
spec:
  sources:
    - {repository: apps, paths: [teams/a]}
  destinations:
    - {clusters: {matchLabels: {env: prod}}, namespaces: [shop, shop-*]}
```

All files are one set: with an error in any of them none of it counts, and the set that was read last
without errors stays. As soon as there is a project, an application that belongs to none is refused. An
application belongs to the project that takes its file; where several do, `spec.project` of an
[application file](application.md) says to which.

Globs are those of paths elsewhere: `*` and `?` stop at a slash, `**` does not, and a pattern that
matches a directory stands for everything below it. Among `paths` and `branches`, `!` in front takes
matches out again.
"""  # noqa: E501 (as wide as the page)


def application_page() -> str:
    """Return the reference page of application files."""
    parts = [_APPLICATION, "## Fields\n", _table("`metadata`", application_sections.Metadata)]
    parts.append(
        _table("`spec`", application_sections.VolarySpec, without=application_sections.Kubernetes)
    )
    parts.append(_table("`spec`, *Kubernetes*", application_sections.Kubernetes))
    parts.append(_STAGES)
    parts += [_stage(kind) for kind in catalog.listed()]
    parts.append(_NOT_YET + "\n".join(_later()) + "\n")
    return "\n".join(parts)


def fleet_page() -> str:
    """Return the reference page of fleet files."""
    return "\n".join([_FLEET, _table("", fleet_files.FleetFile), _PROVIDERS, *_providers()])


def _providers() -> Iterator[str]:
    yield _table("Every type", provider_configs.Connection)
    for kind, model in provider_configs.CONFIGS.items():
        own = _table(f"`type: {kind.value}`", model, without=provider_configs.Connection)
        yield own if own.count("\n") > _EMPTY_TABLE else ""


def controller_page() -> str:
    """Return the reference page of the controller's settings."""
    rows = [f"| `{group}` | {_events(group)} |" for group in notification_routes.GROUPS]
    return "\n".join(
        [_CONTROLLER, _table("", settings_files.ControllerFile), _NOTICES + "\n".join(rows), ""]
    )


def agent_policy_page() -> str:
    """Return the reference page of policy files of agents."""
    return "\n".join([_AGENT_POLICY, _table("", policy_files.AgentPolicyFile)])


def workspace_page() -> str:
    """Return the reference page of workspace files."""
    return "\n".join([_WORKSPACE, _table("", workspace_files.WorkspaceFile)])


def _events(group: str) -> str:
    return ", ".join(
        f"`{name}`"
        for name in notification_routes.EVENTS
        if notification_routes.group_of(name) == group
    )


def _stage(kind: stage_kind.StageKind[Any]) -> str:
    model = stage_sections.section(kind)
    intro = f"### {kind.name}\n\n{kind.reference}\n"
    return f"{intro}\n{_table('', model)}" if model.model_fields else intro


def _table(
    title: str,
    model: type[base_sections.Section],
    *,
    without: type[base_sections.Section] | None = None,
) -> str:
    skipped = set(without.model_fields) if without else set()
    heading = f"### {title}\n\n" if title else ""
    return heading + "\n".join(
        [
            "| Field | Form | Default | Meaning |",
            "|---|---|---|---|",
            *_rows(model, "", skipped),
            "",
        ]
    )


def _rows(model: type[base_sections.Section], prefix: str, skipped: set[str]) -> Iterator[str]:
    for name, info in model.model_fields.items():
        if name in skipped:
            continue
        inner = readings.section_of(info.annotation)
        is_list = typing.get_origin(info.annotation) is list
        path = f"{prefix}{info.alias or name}{'[]' if is_list and inner else ''}"
        form = (
            "list of objects"
            if is_list and inner
            else "object"
            if inner
            else _name(info.annotation, info)
        )
        yield f"| `{path}` | {form} | {_default(info, inner)} | {info.description} |"
        if inner:
            yield from _rows(inner, f"{path}.", set())


def _name(annotation: object, info: fields.FieldInfo) -> str:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        within = [argument for argument in arguments[1:] if isinstance(argument, fields.FieldInfo)]
        known = "path" if _is_path(arguments[1:]) else ""
        return known or _name(arguments[0], within[0] if within else info)
    if origin is list:
        return f"list of {_name(arguments[0], info)}"
    if origin is dict:
        return (
            f"map of text to {_name(arguments[1], info)}"
            if arguments[1] not in (object, typing.Any)
            else "object"
        )
    if origin is typing.Literal:
        return " or ".join(f"`{argument}`" for argument in arguments if argument)
    if origin in {types.UnionType, typing.Union}:
        names = [_name(argument, info) for argument in arguments if argument is not type(None)]
        is_quantity = arguments == (pydantic.StrictInt, str)
        return "number or text" if is_quantity else " or ".join(names)
    return _simple(annotation, info)


def _simple(annotation: object, info: fields.FieldInfo) -> str:
    if isinstance(annotation, type) and issubclass(annotation, StrEnum):
        return " or ".join(f"`{member.value}`" for member in annotation)
    if annotation is str and _is_path(info.metadata):
        return "path"
    if isinstance(annotation, type) and issubclass(annotation, base_sections.Section):
        return "object"
    if annotation is int:
        is_bounded = any(isinstance(mark, annotated_types.Ge) for mark in info.metadata)
        return "number" if is_bounded else "percentage"
    names: dict[object, str] = {
        str: "text",
        bool: "boolean",
        float: "number",
        object: "any value",
        timedelta: "duration",
        rollout_stages.Replicas: "replicas",
        rollouts.Share: "number or share",
    }
    return names[annotation]


def _is_path(marks: Iterable[object]) -> bool:
    return any(getattr(mark, "func", None) is values.relative_path for mark in marks)


def _default(info: fields.FieldInfo, inner: object) -> str:
    if info.is_required():
        return "required"
    value = info.default
    if inner or info.default_factory is not None or value in ("", None):
        return ""
    if value == timedelta():
        return "`0`"
    if isinstance(value, StrEnum):
        return f"`{value.value}`"
    if isinstance(value, timedelta):
        return f"`{query_placeholders.interval_text(value)}`"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _later() -> Iterator[str]:
    models: list[tuple[str, type[base_sections.Section]]] = [
        ("", application_sections.Spec),
        ("input.", base_sections.section(applications.Input)),
        ("input.multiTargets[].", base_sections.section(applications.TargetInput)),
        ("input.multiTargets[].target.", base_sections.section(applications.TargetReference)),
        ("input.helmChart.", base_sections.section(applications.HelmChart)),
        ("pipeline.stages[].", stage_entries.StageEntry),
        ("trigger.onOutOfSync.", base_sections.section(applications.OnOutOfSync)),
    ]
    for prefix, model in models:
        refused = {name: refusal.text for name, refusal in model.refused.items()}
        known = {**refused, **model.later}
        yield from (f"| `{prefix}{name}` | {text} |" for name, text in known.items())


def project_page() -> str:
    """Return the reference page of project files."""
    kind = project_files.PROJECT
    return "\n".join([_PROJECT + "\n## Fields\n", _table(f"`kind: {kind.name}`", kind.section)])


_PAGES = {
    "agentpolicy": agent_policy_page,
    "application": application_page,
    "controller": controller_page,
    "fleet": fleet_page,
    "project": project_page,
    "workspace": workspace_page,
}

if __name__ == "__main__":
    sys.stdout.write(_PAGES[sys.argv[1]]())
