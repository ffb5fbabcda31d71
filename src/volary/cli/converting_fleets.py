"""``volary convert`` for other systems' placement and rollouts over clusters."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from volary.cli import console, exits
from volary.config import application, lint, yaml
from volary.config.dialects.flagger import conversion
from volary.config.dialects.karmada import policies
from volary.config.dialects.karmada import translation as karmada_files
from volary.config.dialects.rollouts import argocd, kubefleet, ocm, plans
from volary.manifests import render_text
from volary.model import errors, json, problem
from volary.sources import applications, directory, tree

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
    files = directory.DirectoryTree(place)
    texts = dict(applications.neighbours(files, "volary.yaml"))
    if not any(map(policies.may_be_in, texts.values())):
        raise errors.user_error(f"no policy of Karmada's in {path}")
    name = lint.default_name(f"{place.resolve().name}/volary.yaml")
    made = karmada_files.translate(application.readable(texts), "", name)
    body = made.draft.value
    beside = applications.in_directory(files, "")
    named = [beside] if applications.is_application_file(beside) else []
    _print(body, made.problems, path)
    what = f"put its spec into {named[0]}" if named else "save it as volary.yaml beside them"
    _hint(f"{what}, and remove the policies")
    return exits.Exit.DONE


def rollout(system: str, path: str, approvers: Sequence[str]) -> int:
    """Print the waves that say what a file of another system's says."""
    place = Path(path)
    if not place.is_file():
        raise errors.user_error(f"{path} is no file")
    files = directory.DirectoryTree(place.parent)
    documents = yaml.load_all(tree.read_text(files, place.name), place.name)
    plan = _SYSTEMS[system](documents, approvers)
    metadata = plan.reading.written(("metadata",))
    body = plan.body(policies.text(metadata, "name") or place.stem)
    _print(body, plan.reading.problems, place.name)
    _hint("put its waves into your volary.yaml")
    return exits.Exit.DONE


def _print(body: json.JsonObject, problems: Sequence[problem.Problem], path: str) -> None:
    """Print a file of ours, after reading it as one.

    Raises:
        UserError: There are errors.
    """
    text = render_text.dump_body(body)
    wrong = [each for each in problems if application.is_error(each)]
    if wrong:
        raise errors.UserError(*wrong)
    application.parse(text, file=f"{path}, converted", default_name="").require()
    start = [f"From {path}, as Volary carries it out."]
    if problems:
        start += ["", "What differs:", *(f"- {each.where}: {each.message}" for each in problems)]
    console.write(conversion.comment(start) + text)
    console.show_problems(console.talk(), problems)


def _hint(text: str) -> None:
    console.talk().print(text, markup=False, highlight=False, soft_wrap=True)
