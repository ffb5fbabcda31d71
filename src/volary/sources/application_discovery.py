"""Finding the application file in a tree."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from volary.config.application import application_files
from volary.config.dialects.karmada import recognition as karmada
from volary.config.stages import analysis_templates
from volary.model import errors, phrases, work_limits
from volary.sources.trees import paths, trees

#: Deeper or larger than this nobody looks for an application by hand.
_MOST_DIRECTORIES = 20_000
_MOST_NAMED = 10
_MOST_SIBLINGS = 1000
_LARGEST_SIBLING = 1 << 20


@dataclass(frozen=True, slots=True)
class ApplicationFile:
    """Where an application is described."""

    #: Relative to the root.
    path: str

    @property
    def directory(self) -> str:
        """The application directory, relative to the root; empty: the root."""
        return paths.parent(self.path)

    @property
    def name(self) -> str:
        """The file's name in its directory."""
        return self.path.rpartition("/")[2]


def is_application_file(name: str) -> bool:
    """Say whether a file of this name describes an application (PipeCD: ``*.pipecd.yaml``)."""
    return name == "volary.yaml" or name.endswith(".pipecd.yaml")


def find(files: trees.Tree, directory: str = "") -> tuple[ApplicationFile, ...]:
    """Return every application file at and below `directory`, in lexical order.

    Hidden directories are left out, and symbolic links are not followed. Canaries are looked
    for in files with names such as ``canary.yaml`` or ``shop-canary.yaml``, and policies
    in those such as ``policy.yaml`` or ``propagation.yaml``.
    """
    application_paths: list[str] = []
    waiting, seen = [directory], 0
    while waiting and seen < _MOST_DIRECTORIES:
        seen += 1
        entries = files.list(waiting.pop())
        here = _named(entries) or _described(
            files,
            [entry for entry in entries if application_files.may_be_canary(entry.name)],
            [entry for entry in entries if karmada.is_policy_file_name(entry.name)],
        )
        application_paths += here
        waiting += [
            entry.path
            for entry in entries
            if entry.kind is trees.Kind.DIRECTORY
            and not entry.name.startswith(".")
            and not (here and entry.name == karmada.DIRECTORY)
        ]
    return tuple(ApplicationFile(path) for path in sorted(application_paths))


def choose(files: trees.Tree, directory: str = "", *, app: str = "") -> ApplicationFile:
    """Return the one application file that is meant.

    `app` names it, or its directory, relative to `directory`. Without it the file in
    `directory` is meant, or the only one below.

    Raises:
        UserError: There is none, or several to choose from.
    """
    refusal = f"--app {app} leads outside the repository"
    start = trees.join(directory, app, refusal, hint="name a directory inside of it")
    entry = trees.follow(files, start)
    if entry is None:
        raise errors.user_error(f"{start or '.'} does not exist", hint="check --app")
    if entry.kind is trees.Kind.FILE:
        return ApplicationFile(entry.path)
    entries = files.list(entry.path)
    here = _named(entries) or _described(files, entries, entries)
    return _only(tuple(map(ApplicationFile, here)) or find(files, entry.path), start)


def in_directory(files: trees.Tree, directory: str) -> str:
    """Return the application file directly in a directory; empty when there is not just one."""
    entries = files.list(directory)
    here = _named(entries) or _described(files, entries, entries)
    return here[0] if len(here) == 1 else ""


def sibling_files(files: trees.Tree, path: str) -> Mapping[str, str]:
    """Return the text of the files that the application file at `path` may refer to.

    They are in the directory `.pipe` of the repository, and next to a Canary or Karmada's
    policies: templates, providers, the workload. Policies may also be in the directory
    `policies` in it.
    """
    chosen = ApplicationFile(path)
    siblings = list(files.list(chosen.directory)[:_MOST_SIBLINGS])
    if any(entry.name == karmada.DIRECTORY for entry in siblings):
        below = paths.join(chosen.directory, karmada.DIRECTORY)
        siblings += files.list(below)[:_MOST_SIBLINGS]
    siblings = [entry for entry in siblings if not is_application_file(entry.name)]
    texts = _texts(files, siblings, path)
    if is_application_file(chosen.name) and not any(map(karmada.may_hold_policies, texts.values())):
        texts = {}
    return {**_texts(files, _shared(files), path), **texts}


def _texts(files: trees.Tree, entries: Sequence[trees.Entry], path: str) -> dict[str, str]:
    """Return the texts of files but for that at `path`.

    Raises:
        UserError: Together they are too large.
    """
    read = [entry for entry in entries if entry.path != path and _is_yaml(entry)]
    if (size := sum(entry.size for entry in read)) > work_limits.SIBLING_BYTES:
        raise errors.user_error(
            f"the files that it may refer to have {size} bytes together, at most"
            f" {work_limits.SIBLING_BYTES // 2**20} MiB are read",
            hint="keep the application in a directory with less beside it",
            where=errors.Location(path),
        )
    return {entry.path: text for entry in read if (text := _text(files, entry.path))}


def shared_identity(files: trees.Tree) -> str:
    """Return what changes with the files that all applications of a repository share."""
    return files.identity(analysis_templates.DIRECTORY) if _shared(files) else ""


def _shared(files: trees.Tree) -> Sequence[trees.Entry]:
    entry = files.entry(analysis_templates.DIRECTORY)
    if entry is None or entry.kind is not trees.Kind.DIRECTORY:
        return ()
    entries = files.list(analysis_templates.DIRECTORY)[:_MOST_SIBLINGS]
    return [entry for entry in entries if analysis_templates.is_template_path(entry.path)]


def _named(entries: Sequence[trees.Entry]) -> list[str]:
    return [
        entry.path
        for entry in entries
        if entry.kind is trees.Kind.FILE and is_application_file(entry.name)
    ]


def _described(
    files: trees.Tree, canaries: Sequence[trees.Entry], placed: Sequence[trees.Entry]
) -> list[str]:
    """Return files with a Canary among `canaries`, or the first with a policy among `placed`."""

    def holding(entries: Sequence[trees.Entry], is_one: Callable[[str], bool]) -> list[str]:
        texts = ((entry.path, _text(files, entry.path)) for entry in entries if _is_yaml(entry))
        return [path for path, text in texts if is_one(text)]

    canary_paths = holding(canaries, application_files.is_canary)
    return canary_paths or holding(placed, karmada.has_propagation_policy)[:1]


def _is_yaml(entry: trees.Entry) -> bool:
    if entry.kind is not trees.Kind.FILE or entry.size > _LARGEST_SIBLING:
        return False
    as_template = paths.join(analysis_templates.DIRECTORY, entry.name)
    return application_files.is_yaml_name(entry.name) or analysis_templates.is_template_path(
        as_template
    )


def _text(files: trees.Tree, path: str) -> str:
    """Return the text of a file; empty when it is not text."""
    try:
        return files.read(path).decode()
    except UnicodeDecodeError:
        return ""


def _only(files: tuple[ApplicationFile, ...], start: str) -> ApplicationFile:
    where = start or "the root of the source"
    if not files:
        raise errors.user_error(
            f"no application file in {where} or below",
            hint="write a volary.yaml or app.pipecd.yaml, or name the directory with --app",
        )
    if len(files) == 1:
        return files[0]
    named = phrases.first_of((file.path for file in files), _MOST_NAMED)
    raise errors.user_error(
        f"{len(files)} application files in {where}: {named}",
        hint="name one of them, or its directory, with --app",
    )


@dataclass(frozen=True, slots=True)
class Source:
    """An application directory at one commit."""

    #: As the user names it: a path or a URL.
    repository: str
    #: Full hash; empty: a plain directory, read as it is.
    commit: str
    #: Relative to the repository's root, ``/`` between parts; empty: the root.
    directory: str = ""
