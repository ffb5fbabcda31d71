"""Rendering lists of objects as ``meta.k8s.io/v1`` Tables."""

from collections.abc import Sequence
from datetime import datetime

from kube_sandbox import json
from kube_sandbox.apiserver.printing import cells, custom, networking, others, workloads

_COLUMNS = {**workloads.COLUMNS, **networking.COLUMNS, **others.COLUMNS}
_PLAIN = (cells.NAME, cells.AGE)


def columns(
    group: str, kind: str, printer_columns: Sequence[json.JsonObject] | None = None
) -> tuple[cells.Column, ...]:
    """Return a kind's columns.

    `printer_columns` are those of the custom resource's version; None for built-in
    kinds. A kind nobody described has NAME and AGE, as on a real server.
    """
    if printer_columns is not None:
        return custom.columns(printer_columns)
    return _COLUMNS.get((group, kind), _PLAIN)


def render(
    shown: Sequence[cells.Column],
    objects: Sequence[json.JsonObject],
    *,
    now: datetime,
    include_object: str = "Metadata",
    metadata: json.JsonObject | None = None,
    with_columns: bool = True,
) -> json.JsonObject:
    """Render objects as a Table.

    `include_object` is the request's ``includeObject``: ``None``, ``Metadata`` or
    ``Object``. `metadata` is that of the list. In a watch only the first Table has
    its column definitions: pass `with_columns` False for the others.
    """
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata or {},
        "columnDefinitions": [_definition(each) for each in shown] if with_columns else None,
        "rows": [_row(shown, each, include_object, now) for each in objects],
    }


def _definition(column: cells.Column) -> json.JsonObject:
    return {
        "name": column.name,
        "type": column.type,
        "format": column.format,
        "description": column.description,
        "priority": column.priority,
    }


def _row(
    shown: Sequence[cells.Column], obj: json.JsonObject, include_object: str, now: datetime
) -> json.JsonObject:
    row: json.JsonObject = {"cells": [each.read(obj, now) for each in shown]}
    if include_object == "Object":
        row["object"] = obj
    elif include_object != "None":
        row["object"] = {
            "kind": "PartialObjectMetadata",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": obj.get("metadata") or {},
        }
    return row
