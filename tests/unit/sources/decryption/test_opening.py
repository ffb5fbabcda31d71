"""PipeCD's encryption and attachment: targets are filled in, or nothing is rendered."""

import functools
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

import sops_keys
from volary.controller.planning import run_renderer
from volary.model import applications, errors, server_settings
from volary.model.fleet import fleets
from volary.sources.decryption import ciphertexts, keys
from volary.sources.rendering import programs, renderers
from volary.sources.trees import directories

Tree = Callable[[Mapping[str, str]], directories.DirectoryTree]
SECRET = """\
apiVersion: v1
kind: Secret
metadata: {name: db}
data: {password: "{{ .encryptedSecrets.password | b64enc }}"}
stringData:
  pin: {{ .encryptedSecrets.pin }}
"""
MAP = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: conf}
data:
  config: |-
{{ .attachment.config | trim | indent 4 }}
"""


@functools.cache
def made_key() -> rsa.RSAPrivateKey:
    """Made by who needs it: all who collect tests would wait for it otherwise."""
    return rsa.generate_private_key(65537, 2048)


def encrypted(**values: str) -> dict[str, str]:
    return {
        name: ciphertexts.encrypt(value, made_key().public_key()) for name, value in values.items()
    }


@pytest.fixture
def known(tmp_path: Path) -> keys.Keys:
    file = tmp_path / "keys" / "private.pem"
    file.parent.mkdir()
    file.write_bytes(
        made_key().private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    pair = server_settings.KeyPair(str(file))
    return keys.Keys(server_settings.Secrets(key_pair=pair), {})


def described(
    targets: tuple[str, ...] = ("secret.yaml",), **secrets: str
) -> applications.Application:
    return applications.Application(
        "shop", encryption=applications.Encryption(encrypted(**secrets), targets)
    )


async def render(
    files: directories.DirectoryTree, wanted: applications.Application, known: keys.Keys
) -> tuple[renderers.Rendered, list[object]]:
    learnt: list[object] = []
    renderer = renderers.Renderer(
        programs.Settings(keys=known), lambda _, values: learnt.extend(values)
    )
    return await renderer.render(files, wanted, directory="app", target="us"), learnt


async def refusal(
    files: directories.DirectoryTree, wanted: applications.Application, known: keys.Keys
) -> str:
    with pytest.raises(errors.UserError) as raised:
        await render(files, wanted, known)
    return str(raised.value)


async def test_targets_are_filled_in_and_what_was_encrypted_is_learnt(
    known: keys.Keys, directory_tree: Tree
) -> None:
    wanted = described(password="correct-horse", pin='"48151623"')

    rendered, learnt = await render(directory_tree({"app/secret.yaml": SECRET}), wanted, known)

    assert rendered.manifests[0].body["data"] == {"password": "Y29ycmVjdC1ob3JzZQ=="}
    assert rendered.manifests[0].body["stringData"] == {"pin": "48151623"}
    assert "correct-horse" in learnt


async def test_other_secrets_of_the_same_files_are_another_rendering(
    known: keys.Keys, directory_tree: Tree
) -> None:
    files = directory_tree({"app/secret.yaml": SECRET})
    renderer = renderers.Renderer(programs.Settings(keys=known))
    digests = set()
    for password in ("first-value", "second-value"):
        wanted = described(password=password, pin="'1'")
        digests.add((await renderer.render(files, wanted, directory="app", target="us")).digest)

    assert len(digests) == 2


async def test_attached_files_are_filled_in_as_they_are_after_decryption(
    known: keys.Keys, directory_tree: Tree
) -> None:
    files = directory_tree(
        {
            "app/map.yaml": MAP,
            "app/config/shop.conf": "password = {{ .encryptedSecrets.password }}\nx = {{ y }}\n"[
                :43
            ],
        }
    )
    wanted = applications.Application(
        "shop",
        encryption=applications.Encryption(
            encrypted(password="correct-horse"), ("config/shop.conf",)
        ),
        attachment=applications.Attachment({"config": "config/shop.conf"}, ("map.yaml",)),
    )

    rendered, _ = await render(files, wanted, known)

    assert rendered.manifests[0].body["data"] == {"config": "password = correct-horse"}


async def test_attachment_alone_needs_no_key(directory_tree: Tree) -> None:
    files = directory_tree({"app/map.yaml": MAP, "app/a.txt": "{{ .Values.x }}\nb\n"})
    wanted = applications.Application(
        "shop", attachment=applications.Attachment({"config": "a.txt"}, ("map.yaml",))
    )

    rendered, learnt = await render(files, wanted, keys.Keys(variables={}))

    assert rendered.manifests[0].body["data"] == {"config": "{{ .Values.x }}\nb"}
    assert learnt == []


async def test_a_file_of_sops_can_be_attached(directory_tree: Tree, tmp_path: Path) -> None:
    age_key = sops_keys.make(tmp_path / "age")
    text = age_key.encrypt("correct-horse\n", "a.txt")
    files = directory_tree({"app/map.yaml": MAP, "app/a.txt": text})
    wanted = applications.Application(
        "shop", attachment=applications.Attachment({"config": "a.txt"}, ("map.yaml",))
    )

    rendered, learnt = await render(files, wanted, age_key.keys)

    assert rendered.manifests[0].body["data"] == {"config": "correct-horse"}
    assert "correct-horse\n" in learnt


async def test_without_a_key_nothing_is_rendered(directory_tree: Tree) -> None:
    files = directory_tree({"app/secret.yaml": SECRET})

    said = await refusal(files, described(password="a", pin="b"), keys.Keys(variables={}))

    assert "the application has encrypted secrets, and no key to decrypt them is named" in said
    assert "secrets.keyPair.privateKeyFile" in said
    assert "VOLARY_PRIVATE_KEY_FILE" in said


async def test_every_value_that_cannot_be_decrypted_is_named(
    known: keys.Keys, directory_tree: Tree
) -> None:
    other = rsa.generate_private_key(65537, 2048).public_key()
    secrets = {"password": ciphertexts.encrypt("a", other), "pin": "no: base64"}
    wanted = applications.Application(
        "shop", encryption=applications.Encryption(secrets, ("secret.yaml",))
    )

    said = await refusal(directory_tree({"app/secret.yaml": SECRET}), wanted, known)

    assert (
        "app: spec.encryption.encryptedSecrets.password: password was encrypted for another key"
        in said
    )
    assert "pin is not an encrypted value: it is not base64" in said
    assert "volary encrypt" in said


async def test_a_template_that_cannot_be_carried_out_is_named_with_its_line(
    known: keys.Keys, directory_tree: Tree
) -> None:
    files = directory_tree({"app/secret.yaml": SECRET})

    said = await refusal(files, described(password="correct-horse"), known)

    assert "app/secret.yaml:6: .encryptedSecrets.pin does not exist; there are: password" in said
    assert "horse" not in said


@pytest.mark.parametrize("path", ["../other.yaml", "/etc/passwd", "link.yaml", "absent.yaml", "d"])
async def test_only_files_of_the_application_are_filled_in_or_attached(
    path: str, known: keys.Keys, directory_tree: Tree
) -> None:
    files = directory_tree(
        {
            "app/secret.yaml": SECRET,
            "app/link.yaml": "-> ../other.yaml",
            "app/d/x": "",
            "other.yaml": "x",
        }
    )
    attached = applications.Application(
        "shop", attachment=applications.Attachment({"config": path}, ("secret.yaml",))
    )
    for wanted in (described((path,), password="a"), attached):
        said = await refusal(files, wanted, known)

        assert "is outside the application directory" in said or "does not exist" in said


async def test_a_file_that_is_no_target_keeps_no_placeholder(
    known: keys.Keys, directory_tree: Tree
) -> None:
    files = directory_tree({"app/secret.yaml": SECRET, "app/other.yaml": SECRET})

    said = await refusal(files, described(password="a", pin="b"), known)

    assert "app/other.yaml:4: has a placeholder of PipeCD" in said
    assert "encryption.decryptionTargets" in said


async def test_a_decrypted_value_is_not_in_what_is_wrong_with_the_file(
    known: keys.Keys, directory_tree: Tree
) -> None:
    files = directory_tree({"app/secret.yaml": "kind: {{ .encryptedSecrets.password }}\n"})

    said = await refusal(files, described(password="Correct: Horse: 1"), known)

    assert "Horse" not in said
    assert "app/secret.yaml" in said


async def test_a_script_has_the_targets_filled_in_as_in_pipecd(
    directory_tree: Tree, known: keys.Keys
) -> None:
    learnt: list[object] = []
    renderer = renderers.Renderer(
        programs.Settings(keys=known), lambda _, values: learnt.extend(values)
    )
    application = described(password="correct-horse-battery", pin="48151623")
    files = directory_tree({"app/secret.yaml": SECRET})
    source = run_renderer.RunSource("c1", files, application, "app")
    rendering = run_renderer.RunRenderer({"c1": source}, renderer, fleets.Fleet(()), new="c1")

    async with rendering.checkout("c1") as place:
        text = (place.directory / "secret.yaml").read_text()

    assert "pin: 48151623" in text
    assert "encryptedSecrets" not in text
    assert "48151623" in learnt, "so that it is masked where the script shows it"
    assert not place.directory.exists()
