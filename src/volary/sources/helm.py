"""Renders a Helm chart of the repository with the helm program (PipeCD: helm)."""

import re
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from volary.manifests import load
from volary.model import application, errors, manifest, problem
from volary.sources import chart, programs, subprocesses, tree, workspace

_RELEASE = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_LONGEST_RELEASE = 53


@dataclass(frozen=True, slots=True)
class Rendering:
    """One chart with everything that decides about its output."""

    release: str
    #: Relative to the root, as are all paths here.
    chart: str
    namespace: str
    options: application.HelmOptions
    value_files: tuple[str, ...]
    set_files: tuple[tuple[str, str], ...]


def prepare(
    files: tree.Tree, directory: str, described: application.Application, path: str
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
    found = chart.directory_of(files, directory, path)
    chart.check_dependencies(files, found)
    return Rendering(
        release=release,
        chart=found,
        namespace=described.input.namespace,
        options=options,
        value_files=tuple(
            chart.input_file(files, directory, each, what="value file")
            for each in options.value_files
        ),
        set_files=tuple(
            (key, chart.input_file(files, directory, each, what="set file"))
            for key, each in sorted(options.set_files.items())
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
    files: tree.Tree,
    rendering: Rendering,
    *,
    tools: programs.Programs,
    limits: workspace.Limits,
    timeout: timedelta,
) -> list[manifest.Manifest]:
    """Return the objects of the chart, definitions included, hooks left out.

    Raises:
        UserError: helm is missing or failed, with what it said.
    """
    program = tools.need("helm")
    wanted = (rendering.chart, *rendering.value_files, *(path for _, path in rendering.set_files))
    async with workspace.private(files, wanted, limits) as (home, root):
        argv = [program, *arguments(rendering, root)]
        finished = await subprocesses.run(argv, private=home, timeout=timeout)
    where = problem.Location(rendering.chart or ".")
    if finished.code != 0:
        said = finished.complaint.replace(f"{root}/", "").removeprefix("Error: ")
        raise errors.user_error(f"helm failed: {said or f'code {finished.code}'}", where=where)
    return load.parse(finished.text("helm"), file=f"helm {where}")
