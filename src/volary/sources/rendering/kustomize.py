"""Builds a kustomization with the kustomize inside of kubectl (PipeCD: kustomize)."""

from collections.abc import Mapping

from volary.model import errors
from volary.model.objects import manifest
from volary.sources.rendering import programs
from volary.sources.trees import trees

#: Flag → the values it may have. All others run programs, use the network, or read files
#: outside of the kustomization.
ALLOWED: Mapping[str, frozenset[str]] = {
    "load-restrictor": frozenset({"LoadRestrictionsRootOnly"}),
    "enable-helm": frozenset({"false"}),
    "enable-alpha-plugins": frozenset({"false"}),
    "network": frozenset({"false"}),
}


def directory_of(application_directory: str, kustomize_dir: str) -> str:
    """Return the directory that is built, relative to the repository's root.

    Raises:
        UserError: It leaves the repository. PipeCD takes any directory of the disk.
    """
    return trees.join(
        application_directory,
        kustomize_dir,
        f"kustomizeDir {kustomize_dir} is outside the repository",
        hint="name a directory inside of it, relative to the application's",
    )


def flags(options: Mapping[str, str]) -> tuple[str, ...]:
    """Return the command line's form of ``kustomizeOptions``, sorted.

    Raises:
        UserError: With every option that is not harmless.
    """
    problems = [
        _refused(name, value)
        for name, value in sorted(options.items())
        if value not in ALLOWED.get(name.lstrip("-"), ())
    ]
    if problems:
        raise errors.UserError(*problems)
    return tuple(f"--{name.lstrip('-')}={value}" for name, value in sorted(options.items()))


def _refused(name: str, value: str) -> errors.Problem:
    allowed = ", ".join(f"{flag}={value}" for flag, values in ALLOWED.items() for value in values)
    return errors.Problem(
        f"the kustomize option {name}={value} is not allowed"
        if value
        else f"the kustomize option {name} is not allowed",
        errors.Location(path="kustomizeOptions"),
        hint=f"allowed are {allowed}: a build runs nothing, reads the repository only, "
        "and uses no network",
    )


async def build(
    files: trees.Tree,
    directory: str,
    wanted: tuple[str, ...],
    options: Mapping[str, str],
    settings: programs.Settings,
) -> list[manifest.Manifest]:
    """Return the objects of the kustomization in `directory`.

    `wanted` are the parts of the tree it reads (see `kustomizations.read`).

    Raises:
        UserError: The build failed, with what kustomize said.
    """
    arguments = flags(options)
    return await programs.render(
        "kubectl",
        lambda root: ["kustomize", str(root / directory), *arguments],
        files,
        wanted,
        settings,
        what="kustomize",
        directory=directory,
    )
