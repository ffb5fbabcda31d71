"""Opens a tree for a rendering: what is encrypted in it is read as what it holds, in memory.

First PipeCD's targets (``spec.encryption``, ``spec.attachment``), then every file of SOPS among
what the rendering reads. All problems of a step are told at once, each with its file.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from volary.manifests import redaction
from volary.model import applications, errors
from volary.sources.decryption import keys, sops, sops_files, templates
from volary.sources.trees import overlays, paths, trees

#: Encrypted files of one rendering, and programs that decrypt them at a time.
_MOST_FILES = 200
_AT_ONCE = 2
#: Files that are looked at; a rendering refuses to take more.
_MOST_LOOKED_AT = 20_000
#: Characters of all secret values of a rendering.
_MOST_SECRET = 4 * 1024 * 1024
#: A value that is no other's, in base64 too.
_STAND_IN = "encrypted000"
_SECRETS = "spec.encryption.encryptedSecrets"
_NO_PRIVATE_KEY = (
    "name the private key: secrets.keyPair.privateKeyFile of the server's settings, for"
    f" `volary run` the variable {keys.PRIVATE_KEY_VARIABLE}"
)


@dataclass(frozen=True, slots=True)
class OpenedTree:
    """A tree, and the secret values that came to light in it."""

    files: trees.Tree
    values: tuple[object, ...] = field(default=(), repr=False)

    def redacted(self, error: errors.UserError) -> errors.UserError:
        """Return the error without secret values; programs repeat what they were given."""
        masker = redaction.Masker()
        masker.learn_values(self.values)
        return masker.clean_error(error)


async def open_targets(
    files: trees.Tree, described: applications.Application, directory: str, known: keys.Keys
) -> OpenedTree:
    """Return the tree with PipeCD's placeholders filled in.

    Raises:
        errors.UserError: There is no key, a value was encrypted for another one, a target or an
            attached file is missing, or a template cannot be carried out.
    """
    encryption, attachment = described.encryption, described.attachment
    if not encryption.decryption_targets and not attachment.targets:
        return OpenedTree(files)
    secrets = await asyncio.to_thread(_decrypted, encryption, directory, known)
    wanted = (*encryption.decryption_targets, *attachment.sources.values(), *attachment.targets)
    inside = await asyncio.to_thread(_all_inside, files, directory, wanted)
    opened = await open_files(files, inside.values(), known)
    contents = await asyncio.to_thread(_filled_in, opened.files, described, inside, secrets)
    return OpenedTree(
        overlays.OverlaidTree(opened.files, contents), (*opened.values, *secrets.values())
    )


async def open_files(files: trees.Tree, wanted: Iterable[str], known: keys.Keys) -> OpenedTree:
    """Return the tree with every file of SOPS at or below the `wanted` paths decrypted.

    Raises:
        errors.UserError: Some cannot be; each is named.
    """
    found = await asyncio.to_thread(_encrypted_files, files, tuple(wanted))
    if not found:
        return OpenedTree(files)
    limit = asyncio.Semaphore(_AT_ONCE)
    contents: dict[str, bytes] = {}
    values: list[object] = []
    problems: list[errors.Problem] = []

    async def decrypt(file: sops_files.EncryptedFile) -> None:
        async with limit:
            try:
                contents[file.path] = await sops.decrypt(file, known)
            except errors.UserError as error:
                where = errors.Location(file.path)
                problems.extend(
                    replace(problem, where=where) if problem.where == errors.NOWHERE else problem
                    for problem in error.problems
                )
                return
            values.extend(
                await asyncio.to_thread(sops_files.secret_values, file, contents[file.path])
            )

    async with asyncio.TaskGroup() as group:
        for file in found:
            group.create_task(decrypt(file))
    if problems:
        raise errors.UserError(*sorted(problems, key=lambda problem: problem.where.file))
    if sum(len(str(value)) for value in values) > _MOST_SECRET:
        raise errors.user_error(
            f"more than {_MOST_SECRET >> 20} Mi characters are encrypted",
            hint="encrypt what is secret and nothing else: --encrypted-regex '^(data|stringData)$'",
            where=errors.Location(found[0].path),
        )
    return OpenedTree(overlays.OverlaidTree(files, contents), tuple(values))


def encrypted_files(files: trees.Tree, directory: str) -> list[sops_files.EncryptedFile]:
    """Return the files of SOPS in a directory and below it, without decrypting any.

    Raises:
        errors.UserError: There are too many.
    """
    return _encrypted_files(files, (directory,))


def with_stand_ins(
    files: trees.Tree, described: applications.Application, directory: str
) -> trees.Tree:
    """Return the tree as it looks to who has no key: secret values are words that stand for them,
    and files of SOPS are empty.

    Raises:
        errors.UserError: A target or an attached file is missing, or a template cannot be carried
            out.
    """
    blank = {file.path: b"" for file in _encrypted_files(files, (directory,))}
    readable = overlays.OverlaidTree(files, blank)
    encryption, attachment = described.encryption, described.attachment
    wanted = (*encryption.decryption_targets, *attachment.sources.values(), *attachment.targets)
    secrets = dict.fromkeys(encryption.encrypted_secrets, _STAND_IN)
    inside = _all_inside(readable, directory, wanted)
    return overlays.OverlaidTree(readable, _filled_in(readable, described, inside, secrets))


def _encrypted_files(files: trees.Tree, wanted: tuple[str, ...]) -> list[sops_files.EncryptedFile]:
    found: dict[str, sops_files.EncryptedFile] = {}
    for entry in _files_below(files, wanted):
        if entry.path in found or entry.size > trees.LARGEST_FILE:
            continue
        encrypted = sops_files.recognise(entry.path, files.read(entry.path))
        if encrypted is None:
            continue
        found[entry.path] = encrypted
        if len(found) > _MOST_FILES:
            raise errors.user_error(
                f"more than {_MOST_FILES} files are encrypted",
                where=errors.Location(entry.path),
            )
    return list(found.values())


def _files_below(files: trees.Tree, wanted: tuple[str, ...]) -> Iterator[trees.Entry]:
    """Yield the files at and below paths, each once, by their real paths."""
    waiting, seen = list(wanted), set[str]()
    while waiting and len(seen) < _MOST_LOOKED_AT:
        try:
            entry = trees.follow(files, waiting.pop())
        except errors.UserError:
            continue  # whoever reads it says what is wrong with it
        if entry is None or entry.path in seen:
            continue
        seen.add(entry.path)
        if entry.kind is trees.Kind.FILE:
            yield entry
        else:
            below = files.list(entry.path)
            waiting += [one.path for one in below if one.kind is not trees.Kind.SUBMODULE]


def _decrypted(
    encryption: applications.Encryption, directory: str, known: keys.Keys
) -> dict[str, str]:
    if not encryption.encrypted_secrets:
        return {}
    text = known.private_key()
    if not text:
        raise errors.user_error(
            "the application has encrypted secrets, and no key to decrypt them is named",
            hint=_NO_PRIVATE_KEY,
            where=errors.Location(directory or ".", path=_SECRETS),
        )
    # With cryptography, which few applications need.
    from volary.sources.decryption import ciphertexts

    try:
        key = ciphertexts.read_private_key(text)
    except ciphertexts.CiphertextError as error:
        file = known.settings.key_pair.private_key_file
        raise errors.user_error(f"{file} {error}") from None
    made: dict[str, str] = {}
    problems: list[errors.Problem] = []
    for name, ciphertext in encryption.encrypted_secrets.items():
        try:
            made[name] = ciphertexts.decrypt(ciphertext, key)
        except ciphertexts.CiphertextError as error:
            where = errors.Location(directory or ".", path=f"{_SECRETS}.{name}")
            hint = "volary encrypt makes a new value for the key pair in use"
            problems.append(errors.Problem(f"{name} {error}", where, hint))
    if problems:
        raise errors.UserError(*problems)
    return made


def _all_inside(files: trees.Tree, directory: str, wanted: Iterable[str]) -> dict[str, str]:
    """Return the real paths of files of the application directory, by how they are written."""
    found: dict[str, str] = {}
    problems: list[errors.Problem] = []
    for path in dict.fromkeys(wanted):
        try:
            found[path] = _inside(files, directory, path)
        except errors.UserError as error:
            problems += error.problems
    if problems:
        raise errors.UserError(*problems)
    return found


def _inside(files: trees.Tree, directory: str, path: str) -> str:
    refusal = "the file is outside the application directory"
    hint = "only files of the application are filled in and attached"
    where = errors.Location(path)
    joined = trees.join(directory, path, refusal, hint=hint, where=where)
    entry = trees.follow(files, joined)
    if not paths.is_below(joined, directory) or (
        entry is not None and not paths.is_below(entry.path, directory)
    ):
        raise errors.user_error(refusal, hint=hint, where=where)
    if entry is None or entry.kind is not trees.Kind.FILE:
        raise errors.user_error("the file does not exist", where=errors.Location(joined))
    return entry.path


def _filled_in(
    files: trees.Tree,
    described: applications.Application,
    inside: Mapping[str, str],
    secrets: Mapping[str, str],
) -> dict[str, bytes]:
    encryption, attachment = described.encryption, described.attachment
    contents: dict[str, bytes] = {}
    problems: list[errors.Problem] = []

    def fill(path: str, values: templates.Values) -> None:
        text = contents[path].decode() if path in contents else trees.read_text(files, path)
        try:
            contents[path] = templates.render(text, values).encode()
        except templates.TemplateError as error:
            hint = "braces of another program's: write {{ `{{ … }}` }}"
            problems.append(errors.Problem(str(error), errors.Location(path, error.line), hint))

    attached_into = {inside[path] for path in attachment.targets}
    with_secrets: templates.Values = {"encryptedSecrets": secrets}
    for path in dict.fromkeys(inside[one] for one in encryption.decryption_targets):
        if path not in attached_into:
            fill(path, with_secrets)
    sources = {name: inside[path] for name, path in attachment.sources.items()}
    attached: dict[str, str] = {}
    for name, path in sources.items():
        attached[name] = (
            contents[path].decode() if path in contents else trees.read_text(files, path)
        )
    decrypted = {inside[one] for one in encryption.decryption_targets}
    for path in sorted(attached_into):
        of_both = with_secrets if path in decrypted else {}
        fill(path, {"attachment": attached, **of_both})
    if problems:
        raise errors.UserError(*problems)
    return contents
