"""The page on kustomizations names every field and kind that is read."""

from pathlib import Path

from volary.sources.rendering import kustomization_fields, kustomize

PAGE = (Path(__file__).parents[2] / "docs/reference/kustomize.md").read_text()


def test_every_field_kind_and_option_is_on_the_page() -> None:
    options = [f"{flag}={value}" for flag, values in kustomize.ALLOWED.items() for value in values]
    names = [*kustomization_fields.FIELDS, *kustomization_fields.BUILTINS, *options]
    missing = [name for name in names if f"`{name}" not in PAGE]

    assert missing == []
