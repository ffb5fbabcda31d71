"""`volary lint` reads what it can of encrypted values without any key."""

from pathlib import Path

import sops_keys
from volary.cli.lint import manifest_checks
from volary.config.crosscheck import lint
from volary.model import errors

SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: db}\nstringData: {a: x}\n"
PIPECD = "apiVersion: pipecd.dev/v1beta1\nkind: Application\nspec:\n  name: shop\n"


def found(base: Path, text: str, files: dict[str, str]) -> list[errors.Problem]:
    (base / "shop").mkdir()
    for name, content in files.items():
        (base / "shop" / name).write_text(content)
    loaded = lint.load_applications({"shop/app.pipecd.yaml": PIPECD + text})
    (loaded_file,) = loaded.values()
    assert not loaded_file.problems or loaded_file.application is not None, loaded_file.problems
    return [
        *manifest_checks.check_manifests(str(base), loaded),
        *manifest_checks.check_secrets(str(base), loaded),
    ]


def test_encrypted_manifests_are_no_problem_and_short_values_are_a_warning(tmp_path: Path) -> None:
    age_key = sops_keys.make(tmp_path / "keys")
    text = age_key.encrypt(
        f"{SECRET}data:\n  pin: 123\n  long: correct-horse\n  flag: true\n",
        "a.yaml",
        *("--encrypted-regex", sops_keys.REGEX),
    )

    told = found(tmp_path, "", {"secret.yaml": text})

    assert [(each.where.file, each.severity, each.message[:48]) for each in told] == [
        ("shop/secret.yaml", "warning", "stringData.a is encrypted and has fewer than 4 c"),
        ("shop/secret.yaml", "warning", "data.pin is encrypted and has fewer than 4 chara"),
    ]


def test_placeholders_are_checked_without_the_key(tmp_path: Path) -> None:
    encryption = (
        "  encryption: {encryptedSecrets: {a: x}, decryptionTargets: [ok.yaml, bad.yaml]}\n"
    )
    files = {
        "ok.yaml": SECRET.replace("a: x", 'a: "{{ .encryptedSecrets.a }}"'),
        "bad.yaml": SECRET.replace("a: x", 'a: "{{ .encryptedSecrets.b }}"'),
    }

    told = found(tmp_path, encryption, files)

    assert {(str(each.where), each.message) for each in told} == {
        ("shop/bad.yaml:4", ".encryptedSecrets.b does not exist; there are: a")
    }


def test_filled_in_targets_are_no_placeholders(tmp_path: Path) -> None:
    spec = (
        "  encryption: {encryptedSecrets: {a: x}, decryptionTargets: [ok.yaml]}\n"
        "  attachment: {sources: {b: b.txt}, targets: [map.yaml]}\n"
    )
    told = found(
        tmp_path,
        spec,
        {
            "ok.yaml": SECRET.replace("a: x", 'a: "{{ .encryptedSecrets.a }}"'),
            "map.yaml": SECRET.replace("a: x", 'a: "{{ .attachment.b | trim }}"'),
            "b.txt": "text\n",
        },
    )

    assert told == []
