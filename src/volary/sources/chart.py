"""What a Helm chart in the repository needs, checked before helm is run."""

from volary.config import yaml
from volary.model import errors, json, problem
from volary.sources import paths, tree


def directory_of(files: tree.Tree, application_directory: str, path: str) -> str:
    """Return the chart's directory relative to the root (PipeCD: ``helmChart.path``).

    It may lie beside the application, but not outside of the repository.

    Raises:
        UserError: It leaves the repository or holds no chart.
    """
    try:
        directory = paths.join(application_directory, path)
    except paths.OutsideError as error:
        raise errors.user_error(
            f"the chart {path} is outside the repository",
            hint="name a directory inside of it, relative to the application's",
        ) from error
    if tree.follow(files, f"{directory}/Chart.yaml" if directory else "Chart.yaml") is None:
        raise errors.user_error(
            "there is no chart here: Chart.yaml is missing", where=problem.Location(directory)
        )
    return directory


def check_dependencies(files: tree.Tree, directory: str) -> None:
    """Make sure that everything the chart depends on is in the repository.

    PipeCD has helm fetch dependencies; here a rendering depends on the commit alone.

    Raises:
        UserError: With every dependency that is not in ``charts/``.
    """
    path = paths.join(directory, "Chart.yaml")
    present = {entry.name for entry in files.list(paths.join(directory, "charts"))}
    problems = [
        problem.Problem(
            f"the chart depends on {name}, which is not in its charts directory",
            problem.Location(path, path="dependencies"),
            hint="run `helm dependency build` and commit the charts directory",
        )
        for name in _dependencies(files, path)
        if not any(each == name or each.startswith(f"{name}-") for each in present)
    ]
    if problems:
        raise errors.UserError(*problems)


def _dependencies(files: tree.Tree, path: str) -> list[str]:
    names: list[str] = []
    for document in yaml.load_all(tree.read_text(files, path), path):
        body: json.JsonObject = document.value if isinstance(document.value, dict) else {}
        for entry in body.get("dependencies") or ():
            name = entry.get("name") if isinstance(entry, dict) else None
            if isinstance(name, str):
                names.append(name)
    return names


def input_file(files: tree.Tree, application_directory: str, path: str, *, what: str) -> str:
    """Return the path of a value file or set file, relative to the root.

    PipeCD compares text prefixes, so that a sibling directory ``app-2`` passes for
    ``app``, and does not check set files at all. Here both have to be in the application
    directory, also after following symbolic links.

    Raises:
        UserError: It is a URL, missing, or outside.
    """
    where = problem.Location(path)
    if "://" in path:
        raise errors.user_error(
            f"a {what} cannot be fetched from a URL",
            hint="copy it into the application directory",
            where=where,
        )
    try:
        joined = paths.join(application_directory, path)
    except paths.OutsideError as error:
        raise _outside(what, where) from error
    found = tree.follow(files, joined)
    if not paths.is_below(joined, application_directory):
        raise _outside(what, where)
    if found is None:
        raise errors.user_error(f"the {what} does not exist", where=where)
    if not paths.is_below(found.path, application_directory):
        raise _outside(what, where)
    return joined


def _outside(what: str, where: problem.Location) -> errors.UserError:
    return errors.user_error(
        f"the {what} is outside the application directory",
        hint="copy it into the application directory",
        where=where,
    )
