"""Text becomes manifests, or a list of everything that is wrong with it.

Reading YAML and JSON as kubectl does is `config.text.yaml`'s work. Here lists are
expanded and every document is checked for what makes it a Kubernetes object.
Better than PipeCD, which cuts at the text ``---`` and does not expand lists.
"""

from collections.abc import Iterable, Iterator, Sequence

from volary.config.text import yaml
from volary.manifests.loading import namespace_scopes, object_keys
from volary.model import errors, json, work_limits
from volary.model.objects import manifest, own_records


def parse(text: str, *, file: str) -> list[manifest.Manifest]:
    """Return the objects of a file in order, lists expanded, empty documents left out.

    Raises:
        UserError: With every problem of the file: broken YAML, documents that are no
            objects, and objects without apiVersion, kind or name.
    """
    manifests: list[manifest.Manifest] = []
    problems: list[errors.Problem] = []
    for document in yaml.load_all(text, file):
        for part in _expand(document, (), document.value):
            if isinstance(part, errors.Problem):
                problems.append(part)
            else:
                manifests.append(part)
            if len(manifests) > work_limits.OBJECTS:
                raise too_many(errors.Location(file))
    if problems:
        raise errors.UserError(*problems)
    return manifests


def too_many(where: errors.Location) -> errors.UserError:
    """Return why a file, or an application, of so many objects is refused."""
    return errors.user_error(
        f"there are more than {work_limits.OBJECTS} objects, which is the most",
        hint="split the application into several",
        where=where,
    )


def check_unique(manifests: Sequence[manifest.Manifest]) -> None:
    """Check that no object is described twice.

    Raises:
        UserError: With a problem for each object that is, naming both places.
    """
    known = namespace_scopes.scope(manifests)
    first: dict[object, manifest.Manifest] = {}
    problems = []
    for item in manifests:
        original = first.setdefault(object_keys.normalise(item.key, known), item)
        if original is not item:
            problems.append(_twice(original, item))
    if problems:
        raise errors.UserError(*problems)


def refuse_own_records(manifests: Iterable[manifest.Manifest]) -> None:
    """Refuse objects that are called like Volary's own records, in any namespace.

    Raises:
        UserError: With a problem for each.
    """
    problems = [
        errors.Problem(
            f"{item.key.title} is called like a record that Volary keeps in the cluster",
            item.origin,
            "give it another name; what was exported from a cluster with it can be left out",
        )
        for item in manifests
        if own_records.is_record(item.group, item.kind, item.name)
    ]
    if problems:
        raise errors.UserError(*problems)


def _twice(original: manifest.Manifest, item: manifest.Manifest) -> errors.Problem:
    place = str(original.origin) or "another document"
    return errors.Problem(
        f"{item.key.title} is described twice, first in {place}",
        item.origin,
        hint="remove one of the two, or give it another name or namespace",
    )


def _expand(
    document: yaml.Document, path: yaml.Path, value: object
) -> Iterator[manifest.Manifest | errors.Problem]:
    """Yield the object at `path`, or the items when it is a list, or what is wrong."""
    if value is None or value == {}:
        return
    if not isinstance(value, dict):
        yield errors.Problem(
            f"a Kubernetes object is expected, this is {_name(value)}",
            document.where(path),
            hint="an object starts with apiVersion, kind and metadata",
        )
    elif _is_list(value):
        for index, item in enumerate(value["items"]):
            yield from _expand(document, (*path, "items", index), _typed(item, value))
    else:
        wrong = list(_problems(document, path, value))
        yield from wrong
        if not wrong:
            place = errors.Location(document.file, document.line_of(path))
            yield manifest.Manifest(value, place)


def _is_list(value: json.JsonObject) -> bool:
    """Tell ``List`` and ``ConfigMapList`` from a custom kind that only ends in List."""
    kind, items = value.get("kind"), value.get("items")
    named = isinstance(value.get("metadata"), dict) and value["metadata"].get("name")
    return isinstance(kind, str) and kind.endswith("List") and isinstance(items, list) and not named


def _typed(item: object, parent: json.JsonObject) -> object:
    """Give items of a typed list the kind that the list's name implies."""
    kind = str(parent["kind"]).removesuffix("List")
    if not isinstance(item, dict) or not kind or "kind" in item:
        return item
    return {"apiVersion": parent.get("apiVersion"), "kind": kind, **item}


def _problems(
    document: yaml.Document, path: yaml.Path, value: json.JsonObject
) -> Iterable[errors.Problem]:
    for field in ("apiVersion", "kind"):
        if not isinstance(value.get(field), str) or not value[field]:
            yield errors.Problem(
                f"{field} is missing" if not value.get(field) else f"{field} must be a text",
                document.where(path),
                hint="every document needs apiVersion, kind and metadata.name",
            )
    metadata = value.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        yield errors.Problem("metadata must be an object", document.where((*path, "metadata")))
        return
    yield from _metadata_problems(document, path, metadata or {}, value)


def _metadata_problems(
    document: yaml.Document, path: yaml.Path, metadata: json.JsonObject, value: json.JsonObject
) -> Iterable[errors.Problem]:
    name = metadata.get("name")
    if not isinstance(name, str) or not name:
        kind = value.get("kind") or "object"
        missing = name in (None, "")
        yield errors.Problem(
            f"the {kind} has no name" if missing else f"the name of the {kind} is not a text",
            document.where((*path, "metadata", "name")),
            hint=_name_hint(metadata),
        )
    if not isinstance(metadata.get("namespace"), str | None):
        place = document.where((*path, "metadata", "namespace"))
        yield errors.Problem("metadata.namespace must be a text", place)
    for field in ("labels", "annotations"):
        yield from _text_problems(document, (*path, "metadata", field), metadata.get(field))


def _name_hint(metadata: json.JsonObject) -> str:
    if metadata.get("name"):
        return "put it in quotes"
    if metadata.get("generateName"):
        return "generateName makes a new object with every run, which cannot be tracked"
    return ""


def _text_problems(
    document: yaml.Document, path: yaml.Path, texts: object
) -> Iterable[errors.Problem]:
    if texts is None:
        return
    if not isinstance(texts, dict):
        yield errors.Problem(f"{path[-1]} must be an object", document.where(path))
        return
    for key, value in texts.items():
        if not isinstance(value, str | None):
            yield errors.Problem(
                f"the value of {key} must be a text, this is {_name(value)}",
                document.where((*path, key)),
                hint="put it in quotes",
            )


def _name(value: object) -> str:
    match value:
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case list():
            return "a list"
        case dict():
            return "an object"
        case _:
            return "a text"
