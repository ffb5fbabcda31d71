"""``volary convert``: another project's file, as one of our own."""

from collections.abc import Mapping
from pathlib import Path

from volary.cli import console, exits
from volary.config import application, yaml
from volary.config.dialects.flagger import conversion, translation
from volary.manifests import render_text
from volary.model import errors, problem
from volary.sources import applications, directory, tree


def flagger(path: str) -> int:
    """Print the application file that says what a Canary says."""
    files, chosen = _open(Path(path))
    text = tree.read_text(files, chosen)
    beside = applications.neighbours(files, chosen)
    loaded = application.parse(text, file=chosen, default_name="", neighbours=beside)
    wrong = [each for each in loaded.problems if each.severity is problem.Severity.ERROR]
    if wrong:
        raise errors.UserError(*wrong)
    made = translation.translate(yaml.load_all(text, chosen), application.readable(beside))
    converted = conversion.convert(made, loaded.problems)
    console.write(_text(converted, chosen))
    console.show_problems(console.talk(), loaded.problems)
    hint = f"save it as volary.yaml beside the manifests, and remove the Canary ({chosen})"
    console.talk().print(hint, markup=False, highlight=False, soft_wrap=True)
    return exits.Exit.DONE


def _open(path: Path) -> tuple[tree.Tree, str]:
    """Return the directory's files and the name of the one with the Canary."""
    if not path.exists():
        raise errors.user_error(f"{path} does not exist")
    if path.is_file():
        files = directory.DirectoryTree(path.parent)
        if not application.is_canary(tree.read_text(files, path.name)):
            raise errors.user_error(f"there is no Canary in {path}", hint="name the file with it")
        return files, path.name
    files = directory.DirectoryTree(path)
    found = [
        each.name
        for each in files.list("")
        if each.kind is tree.Kind.FILE
        and application.is_yaml_name(each.name)
        and application.is_canary(tree.read_text(files, each.path))
    ]
    if len(found) != 1:
        named = ", ".join(found) or "no file"
        raise errors.user_error(
            f"{named} in {path} has a Canary" if not found else f"{named} have Canaries",
            hint="name the file with the Canary",
        )
    return files, found[0]


def _text(converted: conversion.Converted, file: str) -> str:
    start = [f"From {file}, as Volary carries it out."]
    if converted.remarks:
        start += ["", "What differs:", *(f"- {each}" for each in converted.remarks)]
    body = render_text.dump_body(converted.body)
    return conversion.comment(start) + body + _settings(converted.settings)


def _settings(settings: Mapping[str, object]) -> str:
    """Return what belongs to another file."""
    if not settings:
        return ""
    text = render_text.dump_value(dict(settings))
    lines = ["", "For the settings of the controller (analysisProviders: or the fleet file):", ""]
    return conversion.comment([*lines, *text.splitlines()])
