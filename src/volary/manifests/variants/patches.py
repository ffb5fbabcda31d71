"""Patches of a canary: values replaced in its manifests, or in documents inside them.

The model is text, as users of PipeCD know it: the manifest is written as YAML, a
value's token is replaced by the patch's text, and the result is read again. So
``90`` in place of the number 10 is a number and in place of a quoted text a text.
With a document root the text is the document inside that string, whose comments
survive.
"""

from collections.abc import Sequence

from volary.config.text import yaml
from volary.manifests.loading import serialization, yaml_edits
from volary.model import errors
from volary.model.objects import manifest
from volary.model.pipeline.stage_kinds import rollout_stages


def apply(
    manifests: Sequence[manifest.Manifest], patches: Sequence[rollout_stages.Patch]
) -> list[manifest.Manifest]:
    """Return the manifests with the patches applied one after another.

    The first manifest of a patch's kind and name is its target.

    Raises:
        UserError: When no manifest matches, or an operation does not fit.
    """
    result = list(manifests)
    for patch in patches:
        position = _target(result, patch)
        result[position] = _patched(result[position], patch)
    return result


def _target(manifests: Sequence[manifest.Manifest], patch: rollout_stages.Patch) -> int:
    kind, name = patch.target.kind, patch.target.name
    for position, item in enumerate(manifests):
        if (item.kind, item.name) == (kind, name):
            return position
    names = ", ".join(sorted(item.name for item in manifests if item.kind == kind))
    raise errors.user_error(
        f"no manifest matches the given patch: kind={kind}, name={name}",
        hint=f"of kind {kind} there are: {names}" if names else "check the patch's target",
    )


def _patched(item: manifest.Manifest, patch: rollout_stages.Patch) -> manifest.Manifest:
    if not patch.ops:
        return item
    text = serialization.dump_body(item.body)
    try:
        if patch.target.document_root:
            text = _within_root(text, patch)
        else:
            text = _replaced(text, patch.ops)
        return item.with_body(_read(text))
    except yaml_edits.EditError as error:
        raise errors.user_error(
            f"failed to patch manifest: {item.key.title}, error: {error}", where=item.origin
        ) from error
    except errors.UserError as error:
        reasons = "; ".join(problem.message for problem in error.problems)
        raise errors.user_error(
            f"failed to patch manifest: {item.key.title}, error: {reasons}",
            where=item.origin,
            hint="a value that is not a plain word or number has to be quoted inside the patch",
        ) from error


def _within_root(text: str, patch: rollout_stages.Patch) -> str:
    """Patch the document inside the string at the patch's root."""
    root = patch.target.document_root
    try:
        node = yaml_edits.find(text, root)[0]
    except yaml_edits.EditError as error:
        message = f"failed to get value at the root: {root}, error: {error}"
        raise yaml_edits.EditError(message) from error
    if not yaml_edits.is_text(node):
        raise yaml_edits.EditError(f"the value for the specified root {root} must be a string")
    return yaml_edits.replace_text(text, node, _replaced(str(node.value), patch.ops))


def _replaced(text: str, operations: Sequence[rollout_stages.PatchOperation]) -> str:
    for operation in operations:
        if not operation.path:
            raise yaml_edits.EditError("no path given")
        try:
            text = yaml_edits.replace(text, operation.path, operation.value)
        except yaml_edits.EditError as error:
            message = f"failed to replace value at path: {operation.path}, error: {error}"
            raise yaml_edits.EditError(message) from error
    return text


def _read(text: str) -> dict[str, object]:
    documents = yaml.load_all(text)
    if len(documents) != 1:
        message = f"unexpected number of manifests, expected 1, got {len(documents)}"
        raise yaml_edits.EditError(message)
    value = documents[0].value
    if not isinstance(value, dict) or not value.get("kind"):
        raise yaml_edits.EditError("the result is no Kubernetes object")
    return value
