"""``volary lint``: collects the files, checks them, and shows all problems."""

import json as text
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from volary.cli import console, exit_codes
from volary.cli.lint import (
    manifest_checks,
    pod_termination,
    project_checks,
    project_file,
    routes,
    shared_routes,
)
from volary.cli.local import targets
from volary.config.application import application_files
from volary.config.crosscheck import lint
from volary.config.dialects.karmada import recognition as karmada
from volary.config.fleet import fleet_files
from volary.config.server import engine_checks
from volary.config.stages import analysis_templates
from volary.controller.planning import opened_applications
from volary.model import errors, metric_providers, phrases, server_settings
from volary.model.fleet import fleets
from volary.model.pipeline.stage_kinds import waiting_stages

#: Files that are larger are no application files; `config.yaml` refuses them anyway.
_LARGEST = 16 << 20
_MOST_FILES = 10_000
_NAMES = (
    "they are called volary.yaml, app.pipecd.yaml, *.pipecd.yaml or fleet.yaml; a fleet, a"
    " server's settings, projects and workspaces may have any name, and policies are checked with"
    " their directory"
)


def run(
    path: str,
    *,
    fleet: str,
    contexts: str,
    config: str = "",
    project: str = "",
    as_json: bool,
) -> int:
    """Lint `path` and return the exit code: 2 when something has to be mended."""
    team = project_file.read(project) if project else None
    settings = _settings(config) if config else None
    members = _members(fleet, contexts, settings)
    files = _collect(Path(path))
    if Path(path).is_file() and not lint.is_checked(Path(path).as_posix(), files):
        raise errors.user_error(f"{path} is not one of the files that are checked", hint=_NAMES)
    root = "" if Path(path).is_file() else path
    loaded = lint.load_applications(files)
    problems = [*lint.check(files, members, anchored=(Path(path) / ".git").exists())]
    if members is not None:
        problems += [problem for problem in members.warnings if problem not in problems]
        problems += placement_findings(loaded, members)
    if settings is not None:
        problems += _findings_of_server(loaded, settings)
        problems += engine_checks.against_fleet(settings, members) if members is not None else ()
    problems += shared_routes.check(root, loaded, members)
    problems += manifest_checks.check_manifests(root, loaded)
    secrets = manifest_checks.check_secrets(root, loaded)
    problems += [problem for problem in secrets if problem not in problems]
    problems += manifest_checks.check_replicas(root, loaded)
    problems += manifest_checks.check_overrides(root, loaded)
    problems += routes.findings(root, loaded)
    problems += pod_termination.check(root, loaded)
    problems += _doubts(root, loaded, members)
    if team is not None:
        problems += project_checks.findings(root, loaded, team, members)
    if as_json:
        console.write(text.dumps([_to_json(problem) for problem in problems], indent=2))
    else:
        console.show_problems(console.results(), problems)
        _summarize(files, problems)
    wrong = bool(errors.mistakes(problems))
    return exit_codes.Exit.USAGE if wrong else exit_codes.Exit.DONE


def _doubts(
    root: str, loaded: manifest_checks.LoadedFiles, members: fleets.Fleet | None
) -> Iterator[errors.Problem]:
    """Yield what simulated releases say against rules, where files say which traffic to expect."""
    if not any(_expects_traffic(loaded_file) for loaded_file in loaded.values()):
        return
    # Few do, and what simulates it is of no other use here.
    from volary.cli.lint import rule_simulations

    yield from rule_simulations.check(root, loaded, members)


def _expects_traffic(loaded: application_files.Loaded) -> bool:
    described = loaded.application
    stages = described.pipeline if described else ()
    gates = described.waves.waves if described else ()
    options = (*(stage.options for stage in stages), *(wave.gate.analysis for wave in gates))
    return any(
        isinstance(one, waiting_stages.AnalysisOptions) and one.expected_traffic is not None
        for one in options
    )


def placement_findings(
    loaded: manifest_checks.LoadedFiles, members: fleets.Fleet
) -> Iterator[errors.Problem]:
    """Yield spreads that a fleet cannot meet, and clusters that are refused because they have no
    wave.
    """
    for loaded_file in loaded.values():
        described = loaded_file.application
        if described is None or not targets.admitted(described, members):
            continue  # reported by `config.crosscheck` already
        try:
            targets.check(loaded_file, members)
        except errors.UserError as error:
            yield from error.problems


# A server comes with its web framework, its logins and its database; it is imported where there
# are settings of one to check.


def _settings(config: str) -> server_settings.Settings:
    from volary.server import hosting

    return hosting.read_settings(config)


def _findings_of_server(
    loaded: manifest_checks.LoadedFiles, settings: server_settings.Settings
) -> Iterator[errors.Problem]:
    from volary.cli.lint import approvers
    from volary.server import hosting

    yield from approvers.check(loaded, settings)
    yield from hosting.load_projects(settings).problems


def _members(
    fleet: str, contexts: str, settings: server_settings.Settings | None
) -> fleets.Fleet | None:
    """Return the fleet, with the systems to ask that a server's settings add; None: not known.

    Without a fleet of its own it is that of the settings.
    """
    if settings is None:
        return opened_applications.load_fleet(fleet, contexts) if fleet or contexts else None
    named = fleet or ("" if contexts else settings.fleet)
    members = opened_applications.load_fleet(named, contexts)
    return replace(
        members, providers=metric_providers.merged(settings.providers, members.providers)
    )


def _collect(path: Path) -> dict[str, str]:
    if not path.exists():
        raise errors.user_error(f"{path} does not exist")
    names = _with_neighbours(path) if path.is_file() else _below(path)
    if not names:
        raise errors.user_error(
            f"no application, fleet or project file in {path} or below",
            hint=_NAMES,
        )
    return {_shown_name(name, path): _read(name) for name in names} | _templates(path)


def _templates(path: Path) -> dict[str, str]:
    """Return what the applications of the path's repository share, as seen from its root."""
    start = path.resolve()
    above = (start, *start.parents)
    root = next((directory for directory in above if (directory / ".git").exists()), None)
    shared = (root or (start if start.is_dir() else start.parent)) / analysis_templates.DIRECTORY
    if not shared.is_dir():
        return {}
    named = {
        f"{analysis_templates.DIRECTORY}/{template.name}": template
        for template in sorted(shared.iterdir())
    }
    return {
        name: _read(template)
        for name, template in named.items()
        if template.is_file() and analysis_templates.is_template_path(name)
    }


def _below(path: Path) -> list[Path]:
    paths: list[Path] = []
    for directory, folders, files in os.walk(path):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        paths += [Path(directory, name) for name in _names_to_lint(Path(directory), sorted(files))]
        if len(paths) > _MOST_FILES:
            raise errors.user_error(f"more than {_MOST_FILES} files below {path}")
    return paths


def _names_to_lint(directory: Path, files: list[str]) -> list[str]:
    """Return the names of what is linted; a Canary or a policy needs all files of its directory."""
    known = [
        file
        for file in files
        if application_files.is_file_name(file) or fleet_files.is_file_name(file)
    ]
    yamls = [file for file in files if application_files.is_yaml_name(file)]
    if directory.name == karmada.DIRECTORY or any(map(application_files.is_file_name, files)):
        needed = any(karmada.may_hold_policies(_read(directory / yaml)) for yaml in yamls)
    else:
        needed = any(
            (
                application_files.may_be_canary(file)
                and application_files.is_canary(_read(directory / file))
            )
            or (
                karmada.is_policy_file_name(file)
                and karmada.has_propagation_policy(_read(directory / file))
            )
            for file in files
        )
    below = directory / karmada.DIRECTORY
    if not needed and any(map(application_files.is_file_name, files)) and below.is_dir():
        needed = any(_has_policy(neighbour) for neighbour in below.iterdir())
    teams = [yaml for yaml in yamls if lint.has_definitions(_glance(directory / yaml))]
    return sorted({*known, *yamls} if needed else {*known, *teams})


def _glance(file: Path) -> str:
    """Return the text of a file that may be anybody's; empty: it is not one of ours."""
    try:
        return _read(file)
    except errors.UserError:
        return ""


def _has_policy(file: Path) -> bool:
    is_yaml = file.is_file() and application_files.is_yaml_name(file.name)
    return is_yaml and karmada.may_hold_policies(_read(file))


def _with_neighbours(path: Path) -> list[Path]:
    """Return a file that is named, with the other files of its directory where they count."""
    text = _read(path)
    is_named = application_files.is_file_name(path.name)
    if not (is_named or application_files.is_canary(text) or karmada.has_propagation_policy(text)):
        return [path]
    below = path.parent / karmada.DIRECTORY
    siblings = [*path.parent.iterdir(), *(below.iterdir() if below.is_dir() else ())]
    others = [
        neighbour
        for neighbour in sorted(siblings)
        if neighbour != path
        and neighbour.is_file()
        and application_files.is_yaml_name(neighbour.name)
        and not application_files.is_file_name(neighbour.name)
        and not fleet_files.is_file_name(neighbour.name)
        and not application_files.is_canary(_read(neighbour))
    ]
    if is_named and not any(map(_has_policy, others)):
        return [path]
    return [path, *others]


def _shown_name(name: Path, path: Path) -> str:
    return name.as_posix() if path.is_file() else name.relative_to(path).as_posix()


def _read(name: Path) -> str:
    where = errors.Location(str(name))
    try:
        if name.stat().st_size > _LARGEST:
            raise errors.user_error("the file is larger than 16 MiB", where=where)
        return name.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise errors.user_error("the file is not UTF-8 text", where=where) from error
    except OSError as error:
        cause = (error.strerror or "unknown").lower()
        raise errors.user_error(f"the file cannot be read: {cause}", where=where) from error


def _to_json(problem: errors.Problem) -> dict[str, object]:
    return {
        "severity": problem.severity.value,
        "message": problem.message,
        "file": problem.where.file,
        "line": problem.where.line,
        "path": problem.where.path,
        "hint": problem.hint,
    }


def _summarize(files: dict[str, str], problems: Sequence[errors.Problem]) -> None:
    wrong = len(errors.mistakes(problems))
    warnings = len(problems) - wrong
    counts = (
        phrases.count(len(files), "file"),
        phrases.count(wrong, "error"),
        phrases.count(warnings, "warning"),
    )
    console.messages().print(", ".join(counts))
