"""Renders a Helm chart of the repository with the helm program (PipeCD: helm).

What the chart needs is checked before helm is run: everything has to be in the repository.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from volary.config.text import yaml
from volary.model import applications, errors, json
from volary.model.objects import manifest
from volary.sources.rendering import programs
from volary.sources.trees import paths, trees


def chart_directory(files: trees.Tree, application_directory: str, path: str) -> str:
    """Return the chart's directory relative to the root (PipeCD: ``helmChart.path``).

    It may lie next to the application, but not outside of the repository.

    Raises:
        UserError: It leaves the repository or holds no chart.
    """
    directory = trees.join(
        application_directory,
        path,
        f"the chart {path} is outside the repository",
        hint="name a directory inside of it, relative to the application's",
    )
    if trees.follow(files, f"{directory}/Chart.yaml" if directory else "Chart.yaml") is None:
        raise errors.user_error(
            "there is no chart here: Chart.yaml is missing", where=errors.Location(directory)
        )
    return directory


def check_dependencies(files: trees.Tree, directory: str) -> None:
    """Make sure that everything the chart depends on is in the repository.

    PipeCD has helm fetch dependencies; here a rendering depends on the commit alone.

    Raises:
        UserError: With every dependency that is not in ``charts/``.
    """
    path = paths.join(directory, "Chart.yaml")
    present = {entry.name for entry in files.list(paths.join(directory, "charts"))}
    problems = [
        errors.Problem(
            f"the chart depends on {name}, which is not in its charts directory",
            errors.Location(path, path="dependencies"),
            hint="run `helm dependency build` and commit the charts directory",
        )
        for name in _dependencies(files, path)
        if not any(
            chart_name == name or chart_name.startswith(f"{name}-") for chart_name in present
        )
    ]
    if problems:
        raise errors.UserError(*problems)


def _dependencies(files: trees.Tree, path: str) -> list[str]:
    names: list[str] = []
    for document in yaml.load_all(trees.read_text(files, path), path):
        body: json.JsonObject = document.value if isinstance(document.value, dict) else {}
        for entry in body.get("dependencies") or ():
            name = entry.get("name") if isinstance(entry, dict) else None
            if isinstance(name, str):
                names.append(name)
    return names


#: What names a schema in a schema; all else that does only begins with it.
_SCHEMA_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_MOST_CHARTS = 1000


def check_schemas(files: trees.Tree, directory: str) -> None:
    """Make sure that the schemas of values refer to themselves only.

    helm fetches what else they name, from addresses and from any file. What is in archives below
    ``charts/`` is not looked into; nothing can be fetched there either (see `isolation`).

    Raises:
        UserError: With every reference that leads elsewhere; or there are too many charts.
    """
    problems: list[errors.Problem] = []
    waiting, seen = [directory], set[str]()
    while waiting:
        entry = trees.follow(files, waiting.pop())
        if entry is None or entry.path in seen:
            continue
        chart = entry.path
        seen.add(chart)
        if len(seen) > _MOST_CHARTS:
            raise errors.user_error(
                f"the chart consists of more than {_MOST_CHARTS} charts",
                where=errors.Location(directory),
            )
        path = paths.join(chart, "values.schema.json")
        if trees.follow(files, path) is not None:
            for document in yaml.load_all(trees.read_text(files, path), path):
                problems += _foreign_references(document)
        inner = trees.follow(files, paths.join(chart, "charts"))
        waiting += [below.path for below in files.list(inner.path)] if inner else []
    if problems:
        raise errors.UserError(*problems)


def _foreign_references(document: yaml.Document) -> Iterator[errors.Problem]:
    waiting: list[tuple[yaml.Path, object]] = [((), document.value)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, list):
            waiting += [((*path, index), inner) for index, inner in enumerate(value)]
        elif isinstance(value, dict):
            waiting += [((*path, name), inner) for name, inner in value.items()]
        elif path and path[-1] in _SCHEMA_REFERENCES and not str(value).startswith("#"):
            yield errors.Problem(
                f"{value} is another schema, and only this file is read",
                document.where(path),
                hint="write it into the file, under definitions, and refer to #/definitions/NAME",
            )


#: helm takes one text for several there: NAME=FILE,NAME=FILE, and FILE,FILE with quotes.
_SEPARATORS = re.compile(r'[,"\\\x00-\x1f]')
_KEY_SEPARATORS = re.compile(r"[=,\x00-\x1f]")


def _refuse_separators(separators: re.Pattern[str], text: str, what: str) -> None:
    match = separators.search(text)
    if match is not None:
        raise errors.user_error(
            f"{what} {text} has {match.group()!r} in it, where helm begins another one",
            hint="give it another name",
            where=errors.Location(path="helmOptions"),
        )


def chart_input_file(files: trees.Tree, application_directory: str, path: str, *, what: str) -> str:
    """Return the path of a value file or set file, relative to the root.

    PipeCD compares text prefixes, so that a sibling directory ``app-2`` passes for
    ``app``, and does not check set files at all. Here both have to be in the application
    directory, also after following symbolic links.

    Raises:
        UserError: It is a URL, missing, or outside.
    """
    where = errors.Location(path)
    if "://" in path:
        raise errors.user_error(
            f"a {what} cannot be fetched from a URL",
            hint="copy it into the application directory",
            where=where,
        )
    refusal = f"the {what} is outside the application directory"
    hint = "copy it into the application directory"
    joined = trees.join(application_directory, path, refusal, hint=hint, where=where)
    entry = trees.follow(files, joined)
    is_inside = paths.is_below(joined, application_directory)
    if is_inside and entry is None:
        raise errors.user_error(f"the {what} does not exist", where=where)
    if entry is None or not is_inside or not paths.is_below(entry.path, application_directory):
        raise errors.user_error(refusal, hint=hint, where=where)
    _refuse_separators(_SEPARATORS, joined, f"the {what}")
    return joined


_RELEASE = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_LONGEST_RELEASE = 53


@dataclass(frozen=True, slots=True)
class Rendering:
    """One chart with everything that decides about its output."""

    release: str
    #: Relative to the root, as are all paths here.
    chart: str
    namespace: str
    options: applications.HelmOptions
    value_files: tuple[str, ...]
    set_files: tuple[tuple[str, str], ...]

    @property
    def parts(self) -> tuple[str, ...]:
        """The files and directories of the tree that it reads."""
        return (self.chart, *self.value_files, *(path for _, path in self.set_files))


def prepare(
    files: trees.Tree, directory: str, described: applications.Application, path: str
) -> Rendering:
    """Check everything that can be checked without helm.

    Raises:
        UserError: A file or dependency is missing, remote or outside; a bad release name.
    """
    options = described.input.helm_options
    release = options.release_name or described.name
    if not _RELEASE.fullmatch(release) or len(release) > _LONGEST_RELEASE:
        raise errors.user_error(
            f"{release!r} cannot be the name of a release",
            hint="set helmOptions.releaseName: lower-case letters, digits and dashes, at most "
            f"{_LONGEST_RELEASE}",
        )
    chart = chart_directory(files, directory, path)
    check_dependencies(files, chart)
    check_schemas(files, chart)
    for key in options.set_files:
        _refuse_separators(_KEY_SEPARATORS, key, "the key of setFiles")
    return Rendering(
        release=release,
        chart=chart,
        namespace=described.input.namespace,
        options=options,
        value_files=tuple(
            chart_input_file(files, directory, value_file, what="value file")
            for value_file in options.value_files
        ),
        set_files=tuple(
            (key, chart_input_file(files, directory, set_file, what="set file"))
            for key, set_file in sorted(options.set_files.items())
        ),
    )


def arguments(rendering: Rendering, root: Path) -> list[str]:
    """Return what helm is called with; maps are sorted, so equal input gives equal calls.

    Unlike PipeCD without ``--dependency-update``, which would use the network.
    """
    options = rendering.options
    argv = ["template", rendering.release, str(root / rendering.chart)]
    argv += ["--no-hooks", "--include-crds"]
    if rendering.namespace:
        argv.append(f"--namespace={rendering.namespace}")
    argv += [f"--set={key}={value}" for key, value in sorted(options.set_values.items())]
    argv += [f"--values={root / path}" for path in rendering.value_files]
    argv += [f"--set-file={key}={root / path}" for key, path in rendering.set_files]
    argv += [f"--api-versions={version}" for version in options.api_versions]
    if options.kube_version:
        argv.append(f"--kube-version={options.kube_version}")
    return argv


async def template(
    files: trees.Tree, rendering: Rendering, settings: programs.Settings
) -> list[manifest.Manifest]:
    """Return the objects of the chart, definitions included, hooks left out.

    Raises:
        UserError: helm is missing or failed, with what it said.
    """
    return await programs.render(
        "helm",
        lambda root: arguments(rendering, root),
        files,
        rendering.parts,
        settings,
        what="helm",
        directory=rendering.chart,
    )
