"""What every object of a file is read as: a section, written by hand or made from a definition.

A definition is a frozen dataclass of `volary.model` whose fields carry `options.Option`: `section`
returns the pydantic model for it. A field of a section whose type is a definition is written in
files as that says, and holds the dataclass itself once it is read.
"""

import dataclasses
import functools
import inspect
import operator
import types
import typing
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Annotated, Any, ClassVar, TypeVar

import pydantic
from pydantic import Field, alias_generators, json_schema
from pydantic_core import core_schema

from volary.config.decoding import values
from volary.model import options
from volary.model.pipeline.stage_kinds import rollout_stages
from volary.model.placement import rollouts

D = TypeVar("D")
Text = Annotated[str, Field(min_length=1)]

_FORMS: Mapping[options.Form, tuple[object, ...]] = {
    options.Form.NOT_EMPTY: (pydantic.Field(min_length=1),),
    options.Form.ONE_OR_MANY: (
        pydantic.BeforeValidator(values.one_or_many),
        pydantic.WithJsonSchema(values.ONE_OR_MANY),
    ),
    options.Form.PERCENTAGE: (
        pydantic.BeforeValidator(values.percentage),
        pydantic.WithJsonSchema(values.PERCENTAGE),
    ),
    options.Form.FILE: (),
    options.Form.PATH: (pydantic.AfterValidator(values.relative_path),),
    options.Form.CLUSTER_NAME: (pydantic.AfterValidator(values.cluster_name),),
    options.Form.DNS_LABEL: (pydantic.AfterValidator(values.dns_label),),
    options.Form.LABEL_KEY: (pydantic.AfterValidator(values.label_key),),
    options.Form.LABEL_VALUE: (pydantic.AfterValidator(values.label_value),),
    options.Form.ANNOTATION_PREFIX: (pydantic.AfterValidator(values.annotation_prefix),),
}
_TYPES: Mapping[object, object] = {
    bool: pydantic.StrictBool,
    int: pydantic.StrictInt,
    timedelta: Annotated[
        timedelta,
        pydantic.BeforeValidator(values.duration),
        pydantic.WithJsonSchema(values.DURATION),
    ],
    rollout_stages.Replicas: Annotated[
        rollout_stages.Replicas,
        pydantic.PlainValidator(values.replicas),
        pydantic.WithJsonSchema(values.REPLICAS),
    ],
    rollouts.Share: Annotated[
        rollouts.Share,
        pydantic.PlainValidator(values.share),
        pydantic.WithJsonSchema(values.SHARE),
    ],
}


class Section(pydantic.BaseModel):
    """An object of a file; names are written in camelCase."""

    model_config = pydantic.ConfigDict(
        alias_generator=alias_generators.to_camel, extra="forbid", frozen=True, defer_build=True
    )

    #: Fields that are not carried out and change what is deployed, where or to whom: errors in
    #: every dialect.
    refused: ClassVar[Mapping[str, options.Refusal]] = {}
    #: PipeCD's other fields that are not carried out yet, with what they would do.
    later: ClassVar[Mapping[str, str]] = {}
    #: Fields that people write here by mistake, with where they belong.
    misplaced: ClassVar[Mapping[str, str]] = {}
    #: What its options are fields of; None: it is written by hand.
    definition: ClassVar[Any] = None
    #: Its keys name plugins: others than ours are refused, those listed have no options.
    without_options: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def __init_subclass__(cls, of: Any = None, **keywords: typing.Any) -> None:
        """Let fields be read as definitions have them; before pydantic looks.

        Args:
            of: A definition whose options are fields too. One that is named again is read as the
                type that is given there, and own fields beside it have their place beside it;
                otherwise they come after all options.
            keywords: Pydantic's.
        """
        super().__init_subclass__(**keywords)
        own = inspect.get_annotations(cls)
        written = {name: _annotation(hint) for name, hint in own.items()}
        for name in own:
            field = vars(cls).get(name)
            if isinstance(field, dataclasses.Field):
                setattr(cls, name, _field_info(field, field.metadata[options.Option]))
        if of is not None:
            cls.definition, fields = of, _fields(of)
            for name, (_, info) in fields.items():
                if name not in vars(cls):
                    setattr(cls, name, info)
            names = _in_order(list(fields), list(own))
            written = {name: written.get(name) or fields[name][0] for name in names}
            for table in ("refused", "later", "misplaced"):
                if table not in vars(cls) and hasattr(of, table):
                    setattr(cls, table, getattr(of, table))
        cls.__annotations__ = written


def _in_order(options_of: list[str], own: list[str]) -> list[str]:
    named_again = [name for name in own if name in options_of]
    if not named_again:
        return [*options_of, *own]
    names = list(options_of)
    place = names.index(named_again[0])
    for name in own:
        if name in options_of:
            place = names.index(name) + 1
        else:
            names.insert(place, name)
            place += 1
    return names


class _Read:
    """Marks a dataclass that is read by its own definition, which is made ready once it is written.

    A file has few of all the sections that it could have.
    """

    def __init__(self, definition: Any) -> None:
        self._definition = definition

    def __get_pydantic_core_schema__(
        self, _definition: Any, _handler: pydantic.GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(self._read)

    def __get_pydantic_json_schema__(
        self, _schema: core_schema.CoreSchema, handler: pydantic.GetJsonSchemaHandler
    ) -> json_schema.JsonSchemaValue:
        made = section(self._definition)
        made.model_rebuild()
        # Around it, or it is written out at each place instead of being referred to.
        return handler(
            core_schema.no_info_after_validator_function(self._read, made.__pydantic_core_schema__)
        )

    def _read(self, value: object) -> object:
        return value_of(self._definition, section(self._definition).model_validate(value))


@functools.cache
def section(definition: Any) -> type[Section]:
    """Return what a definition is read as."""
    names = {"__module__": definition.__module__, "__doc__": definition.__doc__}
    made = types.new_class(
        definition.__name__, (Section,), {"of": definition}, lambda own: own.update(names)
    )
    return typing.cast("type[Section]", made)


def value_of(definition: type[D], read: Section, **given: Any) -> D:
    """Return what a section says; what it leaves out gets the definition's default.

    `given` are fields that are not taken as they are written.
    """
    known: Any = definition
    fields = _fields(known)
    for name in (read.model_fields_set & fields.keys()) - given.keys():
        value, (hint, _) = getattr(read, name), fields[name]
        given[name] = tuple(value) if typing.get_origin(hint) is list else value
    return definition(**given)


def is_definition(annotation: object) -> bool:
    """Say whether a type is the definition of a section."""
    return (
        isinstance(annotation, type)
        and dataclasses.is_dataclass(annotation)
        and annotation not in _TYPES
    )


@functools.cache
def files_of(definition: Any) -> frozenset[str]:
    """Return the fields of a definition that hold paths seen from the file, or lists of them."""
    hints = typing.get_type_hints(definition, include_extras=True)
    return frozenset(name for name, hint in hints.items() if _is_file(hint))


def _is_file(hint: Any) -> bool:
    arguments = typing.get_args(hint)
    if typing.get_origin(hint) is tuple:
        return _is_file(arguments[0])
    if typing.get_origin(hint) is not Annotated:
        return False
    return options.Form.FILE in arguments[1:] or _is_file(arguments[0])


@functools.cache
def _fields(definition: Any) -> Mapping[str, tuple[Any, object]]:
    """Return the options of a definition as a section has them."""
    assert dataclasses.is_dataclass(definition)
    hints = typing.get_type_hints(definition, include_extras=True)
    return {
        field.name: (_annotation(hints[field.name]), _field_info(field, option))
        for field in dataclasses.fields(definition)
        if (option := options.of(field, hints[field.name])) is not None
    }


def _field_info(field: dataclasses.Field[Any], option: options.Option) -> object:
    known: dict[str, Any] = {
        "description": option.text,
        "ge": option.least,
        "le": option.most,
        "gt": option.above,
    }
    is_marked = typing.get_origin(field.type) is Annotated
    bare = typing.get_args(field.type)[0] if is_marked else field.type
    if typing.get_origin(bare) is tuple:
        known |= {"ge": None, "le": None, "min_length": option.least, "max_length": option.most}
    if option.key:
        known["alias"] = option.key
    if option.required:
        return pydantic.Field(**known)
    if field.default_factory is not dataclasses.MISSING:
        known["default_factory"] = field.default_factory
    elif is_definition(type(field.default)):
        known["default_factory"] = functools.partial(_same, field.default)
    elif isinstance(field.default, tuple):
        known["default_factory"] = functools.partial(_listed, field.default)
    elif field.default is not dataclasses.MISSING:
        is_count = isinstance(field.default, rollouts.Share) and not field.default.is_percentage
        known["default"] = field.default.number if is_count else field.default
    return pydantic.Field(**known)


def _same(value: object) -> object:
    return value


def _listed(values: Iterable[object]) -> list[object]:
    return list(values)


def _annotation(hint: Any) -> Any:
    """Return how a field's type is read."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        marks = [mark for argument in arguments[1:] for mark in _marks(argument)]
        inner = _annotation(arguments[0])
        return Annotated[inner, *marks] if marks else inner
    if origin in (tuple, list):
        return list[_annotation(arguments[0])]  # type: ignore[misc]
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return dict[arguments[0], _annotation(arguments[1])]  # type: ignore[valid-type,misc]
    if origin in (types.UnionType, typing.Union):
        return functools.reduce(operator.or_, map(_annotation, arguments))
    if is_definition(hint):
        return Annotated[hint, _Read(hint)]
    return _TYPES.get(hint, hint)


def _marks(argument: object) -> tuple[object, ...]:
    if isinstance(argument, options.Form):
        return _FORMS[argument]
    return () if isinstance(argument, options.Option) else (argument,)


class OnTargets(Section):
    """Options of a stage that may be limited to clusters."""

    multi_targets: list[options.ClusterName] = options.option(
        "Clusters the stage is limited to; empty: all.", []
    )
