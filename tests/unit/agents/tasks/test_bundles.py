"""Bundles: what was written is what is read, of every application that there is an example of."""

import functools
import zlib
from dataclasses import fields, replace
from pathlib import Path

import hypothesis
import msgspec
import pytest
from hypothesis import strategies

from volary.agents.tasks import bundles
from volary.clusters.client import actors
from volary.clusters.kubeconfig import connections
from volary.config.application import application_files
from volary.model import applications, errors, projects
from volary.model.fleet import fleets
from volary.model.objects import manifest, object_health, ownership
from volary.stages.runtime import contexts
from volary.tenancy import membership

ROOT = Path(__file__).parents[4]


@functools.cache
def known() -> dict[str, applications.Application]:
    """Every application of the examples and cases that can be read."""
    found = {}
    for place in ("examples", "tests/cases"):
        for path in sorted((ROOT / place).rglob("*.yaml")):
            if not application_files.is_file_name(path.name):
                continue
            neighbours = {
                beside.name: beside.read_text()
                for beside in path.parent.glob("*.yaml")
                if beside != path
            }
            loaded = application_files.parse(
                path.read_text(), file=str(path), default_name="app", neighbours=neighbours
            )
            if loaded.application is not None:
                found[str(path.relative_to(ROOT))] = loaded.application
    return found


def without_rendering(application: applications.Application) -> applications.Application:
    """What a bundle has of an application: what is only rendered and planned by is as at first."""
    bare = applications.Application("")
    return replace(application, **{name: getattr(bare, name) for name in bundles.NOT_NEEDED})


def of(application: applications.Application, *sides: bundles.BundledSide) -> bundles.Bundle:
    return bundles.Bundle(
        "run-1", without_rendering(application), fleets.Cluster("us"), application.pipeline, sides
    )


def test_there_are_enough_examples() -> None:
    files = len(known())
    kinds = {stage.name for application in known().values() for stage in application.pipeline}

    assert files > 30
    assert len(kinds) >= 12


def test_every_application_comes_back() -> None:
    for path, application in known().items():
        bundle = of(application)
        assert bundles.read(bundles.write(bundle)) == bundle, path


_TEXT = strategies.text(max_size=12)
_VALUES = strategies.recursive(
    strategies.none() | strategies.booleans() | strategies.integers(-(2**53), 2**53) | _TEXT,
    lambda inner: strategies.lists(inner, max_size=3) | strategies.dictionaries(_TEXT, inner),
    max_leaves=8,
)
_MANIFESTS = strategies.builds(
    lambda kind, name, data, line: manifest.Manifest(
        {"kind": kind, "metadata": {"name": name}, "data": data},
        errors.Location("all.yaml", line),
    ),
    strategies.sampled_from(["Secret", "ConfigMap"]),
    _TEXT,
    strategies.dictionaries(_TEXT, _VALUES, max_size=3),
    strategies.integers(0, 9),
)
_SIDES = strategies.builds(
    bundles.BundledSide,
    strategies.sampled_from(["new", "old"]),
    strategies.booleans(),
    strategies.lists(_MANIFESTS, max_size=4).map(tuple),
    _TEXT,
)


@hypothesis.given(
    strategies.lists(_SIDES, max_size=3), strategies.sampled_from(sorted(known())), _TEXT, _TEXT
)
def test_every_bundle_comes_back(
    sides: list[bundles.BundledSide], path: str, text: str, other: str
) -> None:
    bundle = replace(
        of(known()[path], *sides),
        owner=ownership.Owner(text, other),
        cluster=fleets.Cluster("us", {"region": text}, namespaces=(other,)),
        health=(object_health.Rule(group=text, kind=other),),
        options=contexts.Options(allow_mass_deletion=True),
        commander=text,
        summary=other,
        standing=membership.Standing(projects.Project("team-a", text, stages=(other,)), other),
        identity=actors.Identity(connections.Impersonation(text, groups=(other,))),
    )

    assert bundles.read(bundles.write(bundle)) == bundle


def test_an_object_that_both_sides_have_is_there_once() -> None:
    large = manifest.Manifest(
        {"kind": "ConfigMap", "data": {"a": "".join(map(chr, range(40, 9000)))}}
    )
    one = bundles.BundledSide("new", is_before=False, manifests=(large,))
    both = (one, replace(one, is_before=True))
    application = applications.Application("shop")

    assert len(bundles.write(of(application, *both))) < 1.1 * len(
        bundles.write(of(application, one))
    )


def test_a_side_that_could_not_be_rendered_says_why() -> None:
    bundle = of(
        applications.Application("shop"),
        bundles.BundledSide(
            "new", is_before=False, refusal="Secret shop/db would not be as planned"
        ),
    )

    with pytest.raises(errors.UserError, match="Secret shop/db would not be as planned"):
        bundle.side("new", is_before=False)
    with pytest.raises(errors.UserError, match="sent no manifests of commit old for us"):
        bundle.side("old", is_before=True)


def test_every_field_of_an_application_is_in_it_or_named() -> None:
    names = {each.name for each in fields(applications.Application)}

    assert names > bundles.NOT_NEEDED


_PACKED = bundles.write(of(applications.Application("shop")))


@hypothesis.given(strategies.binary(max_size=200))
def test_what_is_no_bundle_is_refused(packed: bytes) -> None:
    for broken in (packed, zlib.compress(packed), _PACKED[: len(packed)]):
        with pytest.raises(errors.PermanentError):
            bundles.read(broken)


@hypothesis.given(_VALUES)
def test_another_document_is_refused(document: object) -> None:
    for broken in (document, {"form": 1, "application": document, "sides": document}):
        with pytest.raises(errors.PermanentError):
            bundles.read(zlib.compress(msgspec.json.encode(broken)))


def test_the_form_of_another_version_is_refused() -> None:
    with pytest.raises(errors.PermanentError, match="another version: its form is not 1"):
        bundles.read(zlib.compress(b'{"form": 2}'))
