"""Why an object is refused: one cause per field, in the words of kube-apiserver."""

from dataclasses import dataclass

import msgspec

_ENCODE = msgspec.json.Encoder(order="sorted").encode


@dataclass(frozen=True, slots=True)
class Cause:
    """One entry of ``details.causes`` in a Status with reason Invalid."""

    #: ``FieldValueRequired``, ``FieldValueInvalid``, …
    reason: str
    #: Without the field: ``Required value``, ``Invalid value: -1: must be …``.
    message: str
    #: ``spec.template.spec.containers[0].image``.
    field: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"

    @property
    def json(self) -> dict[str, str]:
        """The cause as the API writes it."""
        return {"reason": self.reason, "message": self.message, "field": self.field}


@dataclass(frozen=True, slots=True)
class Literal:
    """A value that is already written as messages show it."""

    text: str


def show(value: object) -> str:
    """Write a value as the server does in messages: compact JSON."""
    if isinstance(value, Literal):
        return value.text
    text = _ENCODE(value).decode()
    return text if isinstance(value, str) else escape(text)


def escape(text: str) -> str:
    """Write the signs of HTML in JSON as Go does: ``\\u003c``."""
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _with_detail(head: str, detail: str) -> str:
    return f"{head}: {detail}" if detail else head


def required(field: str, detail: str = "") -> Cause:
    """A field that has to be there is missing or empty."""
    return Cause("FieldValueRequired", _with_detail("Required value", detail), field)


def invalid(field: str, value: object, detail: str) -> Cause:
    """A field holds a value that breaks a rule."""
    return Cause("FieldValueInvalid", f"Invalid value: {show(value)}: {detail}", field)


def unsupported(field: str, value: object, allowed: tuple[str, ...]) -> Cause:
    """A field holds none of the values it may hold."""
    names = ", ".join(show(each) for each in allowed)
    message = f"Unsupported value: {show(value)}: supported values: {names}"
    return Cause("FieldValueNotSupported", message, field)


def duplicate(field: str, value: object) -> Cause:
    """A value that must be unique in its list occurs again."""
    return Cause("FieldValueDuplicate", f"Duplicate value: {show(value)}", field)


def forbidden(field: str, detail: str) -> Cause:
    """A field may not be set here, or not changed."""
    return Cause("FieldValueForbidden", _with_detail("Forbidden", detail), field)


def not_found(field: str, value: object) -> Cause:
    """A field names something that does not exist in the object."""
    return Cause("FieldValueNotFound", f"Not found: {show(value)}", field)


def too_long(field: str, limit: int) -> Cause:
    """A value is longer than `limit` bytes."""
    detail = f"may not be more than {limit} bytes"
    return Cause("FieldValueTooLong", f"Too long: {detail}", field)


def too_many(field: str, actual: int, limit: int) -> Cause:
    """A list or map has more than `limit` entries."""
    return Cause("FieldValueTooMany", f"Too many: {actual}: must have at most {limit} items", field)


def type_invalid(field: str, value: object, detail: str) -> Cause:
    """A value of the wrong JSON type in a custom resource."""
    return Cause("FieldValueTypeInvalid", f"Invalid value: {show(value)}: {detail}", field)


def message(group: str, kind: str, name: str, found: list[Cause]) -> str:
    """Put causes into the sentence of a Status: ``Deployment.apps "v" is invalid: …``."""
    qualified = f"{kind}.{group}" if group else kind
    texts = list(dict.fromkeys(str(each) for each in found))
    body = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    return f'{qualified} "{name}" is invalid: {body}'
