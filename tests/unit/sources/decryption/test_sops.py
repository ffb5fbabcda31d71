"""Files of SOPS are decrypted by the real program when they are rendered, or nothing is applied."""

import asyncio
import base64
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

import sops_keys
from volary.model import applications, errors, server_settings
from volary.sources.decryption import keys, sops, sops_files
from volary.sources.rendering import programs, renderers
from volary.sources.trees import directories

Tree = Callable[[Mapping[str, str]], directories.DirectoryTree]
SHOP = applications.Application("shop")
PLAIN = """\
apiVersion: v1
kind: Secret
metadata: {name: db}
stringData:
  password: correct-horse-battery
  key: |
    first line of a key
    second line of a key
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop}
data:
  # an internal remark
  pin: "48151623"
  level: "7"
  url: https://user:p%40ssw0rd@db/
  flag: "true"
"""


@pytest.fixture(scope="module")
def age_key(tmp_path_factory: pytest.TempPathFactory) -> sops_keys.AgeKey:
    return sops_keys.make(tmp_path_factory.mktemp("keys"))


def with_keys(known: keys.Keys, learnt: list[object] | None = None) -> renderers.Renderer:
    def learn(name: str, values: object) -> None:
        assert name == "shop"
        if learnt is not None:
            assert isinstance(values, list | tuple)
            learnt.extend(values)

    return renderers.Renderer(programs.Settings(keys=known), learn)


async def refusal(
    files: directories.DirectoryTree,
    known: keys.Keys,
    described: applications.Application = SHOP,
) -> str:
    with pytest.raises(errors.UserError) as raised:
        await with_keys(known).render(files, described, directory="", target="us")
    return str(raised.value)


async def test_encrypted_manifests_are_applied_as_they_were_written(
    age_key: sops_keys.AgeKey, directory_tree: Tree
) -> None:
    encrypted = age_key.encrypt(PLAIN, "a.yaml", "--encrypted-regex", sops_keys.REGEX)
    learnt: list[object] = []
    files = directory_tree({"a.yaml": encrypted})

    rendered = await with_keys(age_key.keys, learnt).render(files, SHOP, directory="", target="us")

    secret, settings = rendered.manifests
    assert "horse" not in encrypted
    assert secret.body["stringData"] == {
        "password": "correct-horse-battery",
        "key": "first line of a key\nsecond line of a key\n",
    }
    assert settings.body["data"]["pin"] == "48151623"  # type: ignore[index]
    assert "sops" not in secret.body
    hidden = {str(value).strip() for value in learnt}
    assert {"correct-horse-battery", "48151623", "an internal remark"} <= hidden
    assert hidden.isdisjoint({"settings", "shop", "Secret", "v1", "db"})


@pytest.mark.parametrize(
    ("name", "text", "form"),
    [
        (
            "a.json",
            '{"apiVersion": "v1", "kind": "A", "metadata": {"name": "a"}, "b": "value-b"}',
            "json",
        ),
        ("a.env", "PASSWORD=value-b\nOTHER=c\n", "dotenv"),
        ("a.ini", "[section]\npassword = value-b\n", "ini"),
        ("a.txt", "password: value-b\n", "binary"),
        ("a.yaml", "password: value-b\n", "yaml"),
    ],
)
async def test_every_form_is_recognised_by_what_it_holds(
    age_key: sops_keys.AgeKey, name: str, text: str, form: str
) -> None:
    file = sops_files.recognise(name, age_key.encrypt(text, name).encode())

    assert file is not None
    assert (file.form.value, sops_files.key_kinds(file)) == (form, ("age",))
    decrypted = await sops.decrypt(file, age_key.keys)
    assert b"value-b" in decrypted
    assert "value-b" in sops_files.secret_values(file, decrypted)


@pytest.mark.parametrize(
    "text",
    [
        "sops: {enabled: true}\nvalue: ENC[AES256_GCM,data:a,iv:b,tag:c,type:str]\n",
        "# about sops: mac, version\na: ENC[none]\n",
        '{"sops": ["mac"], "a": "ENC["}',
        "a: b\n",
    ],
)
def test_other_files_are_left_alone(text: str) -> None:
    assert sops_files.recognise("values.yaml", text.encode()) is None


async def test_value_files_of_a_chart_are_decrypted(
    age_key: sops_keys.AgeKey, directory_tree: Tree, tmp_path: Path
) -> None:
    helm = tmp_path / "bin" / "helm"
    helm.parent.mkdir()
    helm.write_text(
        "#!/bin/sh\n"
        'for one in "$@"; do case $one in --values=*) file=${one#--values=};; esac; done\n'
        'stat=$(/usr/bin/stat -c %a "${file%/tree/*}")\n'
        "echo 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:'\n"
        'echo "  mode: \\"$stat\\""\n'
        '/usr/bin/sed "s/^/  /" "$file"\n'
    )
    helm.chmod(0o755)
    described = applications.Application(
        "shop",
        input=applications.Input(
            helm_chart=applications.HelmChart("chart"),
            helm_options=applications.HelmOptions(value_files=("values.enc.yaml",)),
        ),
    )
    files = directory_tree(
        {
            "chart/Chart.yaml": "name: chart\n",
            "values.enc.yaml": age_key.encrypt("password: correct-horse-battery\n", "v.yaml"),
        }
    )
    settings = programs.Settings(tools={"helm": str(helm)}, keys=age_key.keys)

    rendered = await renderers.Renderer(settings).render(
        files, described, directory="", target="us"
    )

    assert rendered.manifests[0].body["data"] == {
        "mode": "700",
        "password": "correct-horse-battery",
    }


async def test_files_of_secret_generators_are_decrypted(
    age_key: sops_keys.AgeKey, directory_tree: Tree
) -> None:
    files = directory_tree(
        {
            "kustomization.yaml": "secretGenerator:\n- name: db\n  envs: [db.env]\n"
            "  files: [key.txt]\n  options: {disableNameSuffixHash: true}\n",
            "db.env": age_key.encrypt("PASSWORD=correct-horse-battery\n", "a.env"),
            "key.txt": age_key.encrypt("raw key\n", "a.txt"),
        }
    )

    rendered = await with_keys(age_key.keys).render(files, SHOP, directory="", target="us")

    data = rendered.manifests[0].body["data"]
    assert isinstance(data, dict)
    assert {name: base64.b64decode(value).decode() for name, value in data.items()} == {
        "PASSWORD": "correct-horse-battery",
        "key.txt": "raw key\n",
    }


async def test_without_a_key_nothing_is_rendered_and_it_is_said_where(
    age_key: sops_keys.AgeKey, directory_tree: Tree
) -> None:
    files = directory_tree({"a.yaml": age_key.encrypt(PLAIN, "a.yaml")})

    said = await refusal(files, keys.Keys(variables={}))

    assert said == (
        "a.yaml: the file is encrypted with SOPS (age), and no key is named\n"
        "hint: name the keys under secrets.sops of the server's settings; for `volary run`, set"
        " SOPS_AGE_KEY_FILE or what else sops reads"
    )


async def test_another_key_opens_nothing(
    age_key: sops_keys.AgeKey, directory_tree: Tree, tmp_path: Path
) -> None:
    files = directory_tree({"a.yaml": age_key.encrypt(PLAIN, "a.yaml")})

    said = await refusal(files, sops_keys.make(tmp_path / "other").keys)

    assert "a.yaml: the file cannot be decrypted: none of the keys that are named opens it" in said
    assert "it is encrypted for age" in said


async def test_without_the_program_it_says_what_to_install(
    age_key: sops_keys.AgeKey,
    directory_tree: Tree,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    files = directory_tree({"a.yaml": age_key.encrypt(PLAIN, "a.yaml")})
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))

    said = await refusal(files, age_key.keys)

    assert "a.yaml: the file is encrypted with SOPS, and the program sops was not found" in said
    assert "extra `sops`" in said


@pytest.mark.parametrize("change", ["swapped", "removed", "replaced", "mac", "no_mac"])
async def test_a_file_that_was_changed_is_refused(
    change: str, age_key: sops_keys.AgeKey, directory_tree: Tree
) -> None:
    """Each value is sealed by itself; the MAC says that they belong together."""
    text = age_key.encrypt(
        "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n"
        "stringData: {a: first-value, b: second-value}\n",
        "a.yaml",
        *("--encrypted-regex", sops_keys.REGEX),
    )
    lines = text.splitlines(keepends=True)
    places = {line.split(":")[0].strip(): place for place, line in enumerate(lines)}
    match change:
        case "swapped":
            a, b = lines[places["a"]], lines[places["b"]]
            lines[places["a"]] = f"    a:{b.partition(':')[2]}"
            lines[places["b"]] = f"    b:{a.partition(':')[2]}"
        case "removed":
            del lines[places["b"]]
        case "replaced":
            lines[places["metadata"] + 1] = "    name: other\n"
        case "mac":
            at = places["mac"]
            lines[at] = lines[at].replace("data:", "data:Zm9v")
        case "no_mac":
            del lines[places["mac"]]
    assert "".join(lines) != text

    said = await refusal(directory_tree({"a.yaml": "".join(lines)}), age_key.keys)

    assert said.startswith("a.yaml: the file cannot be decrypted: "), said
    assert "changed by hand" in said, said


@pytest.mark.parametrize("encode", [str, lambda text: base64.b64encode(text.encode()).decode()])
async def test_a_value_that_nobody_decrypted_is_never_applied(
    encode: Callable[[str], str], directory_tree: Tree
) -> None:
    value = encode("ENC[AES256_GCM,data:tg==,iv:YXc=,tag:aSP7==,type:str]")
    files = directory_tree(
        {
            "a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
            f"data: {{a: {json.dumps(value)}}}\n"
        }
    )

    said = await refusal(files, keys.Keys(variables={}))

    assert said.startswith("a.yaml:1: ConfigMap a has an encrypted value of SOPS")


async def test_what_an_operator_decrypts_passes_through(
    age_key: sops_keys.AgeKey, directory_tree: Tree
) -> None:
    text = "apiVersion: isindir.github.com/v1alpha3\nkind: SopsSecret\nmetadata: {name: a}\n"
    text += "spec: {secretTemplates: [{name: a, stringData: {a: first-value}}]}\n"
    encrypted = age_key.encrypt(text, "a.yaml", "--encrypted-suffix", "Templates")
    files = directory_tree({"a.yaml": encrypted})

    rendered = await with_keys(keys.Keys(variables={})).render(
        files, SHOP, directory="", target="us"
    )

    assert "sops" in rendered.manifests[0].body
    assert "first-value" not in str(rendered.manifests[0].body)


async def test_what_is_wrong_with_a_decrypted_file_is_said_without_its_values(
    age_key: sops_keys.AgeKey, directory_tree: Tree
) -> None:
    text = "apiVersion: v1\nkind: Secret\nmetadata: {name: Correct-Horse-Battery}\n"
    encrypted = age_key.encrypt(
        f"{text}data:\n  a: correct-horse-battery\n",
        "a.yaml",
        *("--encrypted-regex", "^(data|metadata)$"),
    )
    patch = age_key.encrypt("kind: correct-horse-battery\napiVersion: [\n", "p.txt")
    files = {
        "kustomization.yaml": "resources: [a.yaml]\npatches: [{path: p.txt}]\n",
        "a.yaml": encrypted,
        "p.txt": patch,
    }

    said = await refusal(directory_tree(files), age_key.keys)

    assert "correct-horse-battery" not in said
    assert "kustomize failed" in said


async def test_a_key_in_the_repository_is_refused(
    age_key: sops_keys.AgeKey, directory_tree: Tree, tmp_path: Path
) -> None:
    checkout = tmp_path / "checkout"
    inside = sops_keys.make(checkout / "deep")
    (tmp_path / "linked").symlink_to(inside.file)
    files = directory_tree({"a.yaml": inside.encrypt(PLAIN, "a.yaml")})
    for file in (inside.file, tmp_path / "linked"):
        given = server_settings.Secrets(server_settings.Sops(age_key_file=str(file)))

        said = await refusal(files, keys.Keys(given, {}).apart_from(str(checkout)))

        assert f"the key {file} is in the repository {checkout}" in said
    variables = {"SOPS_AGE_KEY_FILE": str(inside.file), "HOME": str(tmp_path)}
    said = await refusal(files, keys.of_user(variables, apart_from=[str(checkout)]))
    assert "is in the repository" in said


async def test_a_user_has_the_keys_that_sops_itself_would_find(
    age_key: sops_keys.AgeKey, directory_tree: Tree, tmp_path: Path
) -> None:
    files = directory_tree(
        {"a.yaml": age_key.encrypt(PLAIN, "a.yaml", "--encrypted-regex", sops_keys.REGEX)}
    )
    home = tmp_path / "home" / ".config" / "sops" / "age"
    home.mkdir(parents=True)
    (home / "keys.txt").write_text(age_key.file.read_text())
    secret_key = age_key.file.read_text().splitlines()[1]
    for variables in (
        {"HOME": str(tmp_path / "home")},
        {"HOME": str(tmp_path), "SOPS_AGE_KEY_FILE": str(age_key.file)},
        {"HOME": str(tmp_path), "SOPS_AGE_KEY": secret_key},
    ):
        known = keys.of_user(variables)

        rendered = await with_keys(known).render(files, SHOP, directory="", target="us")

        assert len(rendered.manifests) == 2
        assert secret_key in set(known.secret_values())


@pytest.mark.parametrize(
    ("section", "named"),
    [
        ("hc_vault: [{vault_address: 'http://127.0.0.1:1/', engine_path: a, key_name: b}]", "127"),
        ("key_groups: [{hc_vault: [{vault_address: 'http://127.0.0.1:1/'}]}]", "127"),
        ("azure_kv: [{vault_url: 'https://a.vault.azure.net.evil.example', name: b}]", "evil"),
        ("azure_kv: [{vault_url: 'http://a.vault.azure.net', name: b}]", "http://a"),
        ("azure_kv: [{vault_url: 'https://x@evil.example/a.vault.azure.net', name: b}]", "evil"),
    ],
)
async def test_a_file_cannot_send_requests_where_it_likes(
    section: str, named: str, age_key: sops_keys.AgeKey
) -> None:
    """The address of the service stands in the file, and credentials would be sent there."""
    text = age_key.encrypt("a: first-value\n", "a.yaml").replace(
        "sops:\n", f"sops:\n    {section}\n"
    )
    file = sops_files.recognise("a.yaml", text.encode())
    assert file is not None

    with pytest.raises(errors.UserError, match="key service that is not allowed") as raised:
        await sops.decrypt(file, age_key.keys)

    assert named in str(raised.value)


def test_the_vault_of_the_settings_is_allowed(age_key: sops_keys.AgeKey) -> None:
    text = age_key.encrypt("a: first-value\n", "a.yaml").replace(
        "sops:\n", "sops:\n    hc_vault: [{vault_address: 'https://vault.example/'}]\n"
    )
    file = sops_files.recognise("a.yaml", text.encode())
    assert file is not None

    assert sops_files.foreign_services(file, "https://vault.example") == []
    assert sops_files.foreign_services(file, "") == ["https://vault.example/"]


async def test_keys_are_given_to_sops_and_nothing_else_of_the_environment(
    tmp_path: Path, age_key: sops_keys.AgeKey
) -> None:
    variables = {"VAULT_ADDR": "https://v", "VAULT_TOKEN": "t", "DATABASE_PASSWORD": "x"}
    given = server_settings.Sops(
        age_key_file=str(age_key.file), environment=("VAULT_ADDR", "VAULT_TOKEN", "ABSENT")
    )
    known = keys.Keys(server_settings.Secrets(given), variables)

    assert known.sops_environment() == {
        "SOPS_AGE_KEY_FILE": str(age_key.file),
        "VAULT_ADDR": "https://v",
        "VAULT_TOKEN": "t",
    }
    assert known.may_ask_services
    assert not age_key.keys.may_ask_services
    assert "t" in set(known.secret_values())


def test_short_values_are_known_without_a_key(age_key: sops_keys.AgeKey) -> None:
    text = age_key.encrypt("a: {pin: 123, flag: true, word: long-enough}\nb: [xy, '']\n", "a.yaml")
    file = sops_files.recognise("a.yaml", text.encode())
    assert file is not None

    assert sops_files.short_values(file) == ["a.pin", "b[0]"]


async def test_as_many_files_as_there_are_and_every_problem(
    age_key: sops_keys.AgeKey, directory_tree: Tree
) -> None:
    text = age_key.encrypt(PLAIN, "a.yaml")
    files = directory_tree({f"{name}.yaml": text for name in "abc"})

    said = await refusal(files, keys.Keys(variables={}))

    assert said.count("is encrypted with SOPS (age), and no key is named") == 3


async def test_renderings_at_once_decrypt_once(
    age_key: sops_keys.AgeKey, directory_tree: Tree
) -> None:
    files = directory_tree(
        {"a.yaml": age_key.encrypt(PLAIN, "a.yaml", "--encrypted-regex", sops_keys.REGEX)}
    )
    renderer = with_keys(age_key.keys)
    async with asyncio.TaskGroup() as group:
        for target in ("us", "eu"):
            group.create_task(renderer.render(files, SHOP, directory="", target=target))

    assert renderer.renderings == 1


@pytest.fixture
def keyring() -> Iterator[tuple[Path, str]]:
    """A keyring with one key, and what was encrypted for it."""
    if shutil.which("gpg") is None:
        pytest.skip("gpg is not on PATH")
    # Sockets of its agent have short paths.
    with tempfile.TemporaryDirectory(dir="/tmp") as home:
        variables = {"PATH": os.environ["PATH"], "GNUPGHOME": home, "HOME": home}

        def run(*words: str) -> str:
            ended = subprocess.run(words, env=variables, check=True, capture_output=True)
            return ended.stdout.decode()

        try:
            run("gpg", "--batch", "--passphrase", "", "--quick-gen-key", "shop <shop@example.org>")
            lines = run("gpg", "--list-keys", "--with-colons").splitlines()
            fingerprint = next(line for line in lines if line.startswith("fpr:")).split(":")[9]
            plain = Path(home, "a.yaml")
            plain.write_text(PLAIN)
            yield Path(home), run(sops.find(), "encrypt", "--pgp", fingerprint, str(plain))
        finally:
            subprocess.run(("gpgconf", "--kill", "all"), env=variables, check=False)


async def test_a_keyring_of_gnupg_opens_what_was_encrypted_for_it(
    keyring: tuple[Path, str], directory_tree: Tree, tmp_path: Path
) -> None:
    home, encrypted = keyring
    files = directory_tree({"a.yaml": encrypted})
    given = server_settings.Secrets(server_settings.Sops(gnupg_home=str(home)))

    rendered = await with_keys(keys.Keys(given, {})).render(files, SHOP, directory="", target="us")
    said = await refusal(files, sops_keys.make(tmp_path / "age").keys)

    assert [each.kind for each in rendered.manifests] == ["Secret", "ConfigMap"]
    assert "it is encrypted for PGP" in said


async def test_keys_of_a_project_open_what_is_its_own_and_nothing_else(
    directory_tree: Tree, age_key: sops_keys.AgeKey, tmp_path: Path
) -> None:
    of_project = sops_keys.make(tmp_path / "project")
    own = server_settings.Secrets(sops=server_settings.Sops(age_key_file=str(of_project.file)))
    general = server_settings.Secrets(sops=server_settings.Sops(age_key_file=str(age_key.file)))
    partly = ("--encrypted-regex", sops_keys.REGEX)
    theirs = directory_tree({"theirs/a.yaml": of_project.encrypt(PLAIN, "a.yaml", *partly)})
    ours = directory_tree({"ours/a.yaml": age_key.encrypt(PLAIN, "a.yaml", *partly)})
    everybody = with_keys(keys.Keys(general, {}))
    project = everybody.with_keys(own)

    assert project is everybody.with_keys(own)
    assert await project.render(theirs, SHOP, directory="theirs", target="us")
    for renderer, files, name in ((everybody, theirs, "theirs"), (project, ours, "ours")):
        with pytest.raises(errors.UserError, match=r"a\.yaml"):
            await renderer.render(files, SHOP, directory=name, target="us")
    assert await everybody.render(ours, SHOP, directory="ours", target="us")
