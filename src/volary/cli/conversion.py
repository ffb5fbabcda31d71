"""``volary convert``: other projects' files as application files."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from volary.cli import console, exit_codes
from volary.config.application import application_files
from volary.config.dialects import drafts
from volary.config.dialects.flagger import translation
from volary.config.dialects.karmada import recognition
from volary.config.dialects.karmada import translation as karmada_files
from volary.config.dialects.rollouts import argocd, kubefleet, ocm, plans
from volary.config.text import yaml
from volary.manifests.loading import serialization
from volary.model import errors, json
from volary.sources import application_discovery
from volary.sources.trees import directories, trees


def flagger(path: str) -> int:
    """Print the application file that says what a Canary says."""
    files, chosen = _open(Path(path))
    text = trees.read_text(files, chosen)
    siblings = application_discovery.sibling_files(files, chosen)
    loaded = application_files.parse(text, file=chosen, default_name="", neighbours=siblings)
    _raise_errors(loaded.problems)
    made = translation.translate(yaml.load_all(text, chosen), application_files.readable(siblings))
    text = serialization.dump_body(translation.body(made)) + _settings(made.settings)
    _print(text, _remarks(loaded.problems), chosen)
    console.show_problems(console.messages(), loaded.problems)
    _print_hint(f"save it as volary.yaml beside the manifests, and remove the Canary ({chosen})")
    return exit_codes.Exit.DONE


def _open(path: Path) -> tuple[trees.Tree, str]:
    """Return the directory's files and the name of the one with the Canary."""
    if not path.exists():
        raise errors.user_error(f"{path} does not exist")
    if path.is_file():
        files = directories.DirectoryTree(path.parent)
        if not application_files.is_canary(trees.read_text(files, path.name)):
            raise errors.user_error(f"there is no Canary in {path}", hint="name the file with it")
        return files, path.name
    files = directories.DirectoryTree(path)
    names = [
        entry.name
        for entry in files.list("")
        if entry.kind is trees.Kind.FILE
        and application_files.is_yaml_name(entry.name)
        and application_files.is_canary(trees.read_text(files, entry.path))
    ]
    if len(names) != 1:
        named = ", ".join(names) or "no file"
        raise errors.user_error(
            f"{named} in {path} has a Canary" if not names else f"{named} have Canaries",
            hint="name the file with the Canary",
        )
    return files, names[0]


def _settings(settings: Mapping[str, object]) -> str:
    """Return what belongs to another file."""
    if not settings:
        return ""
    text = serialization.dump_value(dict(settings))
    lines = ["", "For the settings of the controller (analysisProviders: or the fleet file):", ""]
    return translation.comment([*lines, *text.splitlines()])


_Convert = Callable[[Sequence[yaml.Document], Sequence[str]], plans.Plan]
_SYSTEMS: Mapping[str, _Convert] = {
    "kubefleet": kubefleet.convert,
    "ocm": ocm.convert,
    "argocd": argocd.convert,
}


def karmada(path: str) -> int:
    """Print the application file that says what the policies of a directory say."""
    place = Path(path)
    if not place.is_dir():
        raise errors.user_error(f"{path} is no directory", hint="name the one with the policies")
    files = directories.DirectoryTree(place)
    texts = dict(application_discovery.sibling_files(files, "volary.yaml"))
    if not any(map(recognition.may_hold_policies, texts.values())):
        raise errors.user_error(f"no policy of Karmada's in {path}")
    name = application_files.default_name(f"{place.resolve().name}/volary.yaml")
    made = karmada_files.translate(application_files.readable(texts), "", name)
    body = made.draft.value
    existing = application_discovery.in_directory(files, "")
    named = [existing] if application_discovery.is_application_file(existing) else []
    _print_converted(body, made.problems, path)
    what = f"put its spec into {named[0]}" if named else "save it as volary.yaml beside them"
    _print_hint(f"{what}, and remove the policies")
    return exit_codes.Exit.DONE


def rollout(system: str, path: str, approvers: Sequence[str]) -> int:
    """Print the waves that say what a file of another system's says."""
    place = Path(path)
    if not place.is_file():
        raise errors.user_error(f"{path} is no file")
    files = directories.DirectoryTree(place.parent)
    documents = yaml.load_all(trees.read_text(files, place.name), place.name)
    plan = _SYSTEMS[system](documents, approvers)
    metadata = plan.reading.written(("metadata",))
    body = plan.body(drafts.text(metadata, "name") or place.stem)
    _print_converted(body, plan.reading.problems, place.name)
    _print_hint("put its waves into your volary.yaml")
    return exit_codes.Exit.DONE


def _print_converted(body: json.JsonObject, problems: Sequence[errors.Problem], path: str) -> None:
    """Print an application file, after reading it as one.

    Raises:
        UserError: There are errors.
    """
    text = serialization.dump_body(body)
    _raise_errors(problems)
    application_files.parse(text, file=f"{path}, converted", default_name="").require()
    _print(text, _remarks(problems), path)
    console.show_problems(console.messages(), problems)


def _remarks(problems: Iterable[errors.Problem]) -> list[str]:
    return [f"{problem.where}: {problem.message}" for problem in problems]


def _raise_errors(problems: Iterable[errors.Problem]) -> None:
    wrong = errors.mistakes(problems)
    if wrong:
        raise errors.UserError(*wrong)


def _print(text: str, remarks: Sequence[str], file: str) -> None:
    """Print an application file, with what differs from `file` at its head."""
    head = [f"From {file}, as Volary carries it out."]
    if remarks:
        head += ["", "What differs:", *(f"- {remark}" for remark in remarks)]
    console.write(translation.comment(head) + text)


def _print_hint(text: str) -> None:
    console.messages().print(text, markup=False)
