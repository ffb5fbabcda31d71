"""Every reader of what others wrote, with examples of it."""

import asyncio
import base64
import functools
import hashlib
import hmac
import json
import math
import random
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import jwt
import msgspec
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

import live_fleet
from fuzzing import changes
from fuzzing.trials import CANARY, Parser
from volary import secret_files
from volary.agents import hellos
from volary.agents.orders import keys, orders, sealing
from volary.agents.policy import api_requests, decisions
from volary.agents.tasks import bundles, meeting_values, worker_identities
from volary.agents.tunnel import frames
from volary.analysis.providers import query
from volary.analysis.providers.dialects import dialect, google_tokens, registry
from volary.clusters.api import api_errors, discovery, requests
from volary.clusters.client import watches
from volary.clusters.kubeconfig import kubeconfigs
from volary.clusters.transport import authenticators, transports
from volary.config.agents import policy_files
from volary.config.application import application_files
from volary.config.crosscheck import lint
from volary.config.fleet import fleet_files
from volary.config.projects import definitions, project_files
from volary.config.server import settings_files
from volary.config.stages import document_queries
from volary.config.text import (
    calendars,
    expressions,
    git_addresses,
    globs,
    json_paths,
    patterns,
    result_conditions,
    yaml,
)
from volary.config.workspaces import workspace_files
from volary.controller.projects import project_registry
from volary.controller.workspaces import workspace_states
from volary.gitops import webhooks
from volary.http_client import answers
from volary.livestate import cluster_objects, entries, packing, secret_digests, sources
from volary.manifests import redaction
from volary.manifests.health import assessment
from volary.manifests.loading import documents
from volary.model import applications, errors, safe_text, server_settings
from volary.model import json as volary_json
from volary.model.fleet import fleets
from volary.model.objects import manifest
from volary.model.pipeline.stage_kinds import catalog
from volary.model.schedules import cron, recurrence
from volary.server.authentication import authorization_code, issuers, tokens
from volary.server.routes import applications as application_routes
from volary.sources.decryption import ciphertexts, sops_files, templates
from volary.sources.git import branch_listing, git_hosts, ssh_remote
from volary.sources.rendering import helm, kustomizations, placeholders, plain_files
from volary.sources.trees import paths, trees
from volary.stages.judgement import metric_jobs
from volary.store import pagination, records
from volary.tenancy import identities, membership, restrictions, workspace_manifests

ROOT = Path(__file__).parents[2]
_CASES = ROOT / "tests/cases"
_TRUTH = ROOT / "sandbox/tests/truth/recorded"
_EXAMPLES = Path(__file__).parent / "examples"
_NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
_LARGEST_EXAMPLE = 32 * 1024


@functools.cache
def all_parsers() -> Sequence[Parser]:
    """Return them, in a fixed order; to read their examples takes half a second."""
    return tuple(_all())


def _all() -> Iterator[Parser]:
    yield from _of_configuration()
    yield from _of_texts()
    yield from _of_git()
    yield from _of_sources()
    yield from _of_secrets()
    yield from _of_requests()
    yield from _of_agents()
    yield from _of_clusters()
    yield from _of_metrics()


def _files(*patterns: str, root: Path = _CASES) -> Sequence[bytes]:
    """Return the examples in files of the repository; large ones are left out."""
    found = sorted({path for pattern in patterns for path in root.glob(pattern) if path.is_file()})
    texts = [path.read_bytes() for path in found]
    kept = [text for text in texts if len(text) <= _LARGEST_EXAMPLE]
    assert kept, patterns
    return kept


def _said(problems: Iterable[errors.Problem]) -> list[str]:
    return [str(problem) for problem in problems]


def _text(data: bytes) -> str:
    """Return text as it comes out of a file.

    Raises:
        errors.UserError: It is none.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise errors.user_error("the file is not UTF-8 text") from error


def _words_of(data: bytes) -> str:
    """Return text as it stands in a document."""
    return data.decode("utf-8", "replace")


# Files that configure.


def _application(data: bytes) -> Iterable[str]:
    beside = {"app/canary.yaml": _text(data), "app/.pipe/analysis-template.yaml": _text(data)}
    loaded = application_files.parse(
        _text(data),
        file="app/volary.yaml",
        default_name="app",
        directory="app",
        neighbours=beside if len(data) % 3 == 0 else {},
    )
    return _said(loaded.problems)


def _linted(data: bytes) -> Iterable[str]:
    text = _text(data)
    names = ("app/volary.yaml", "fleet.yaml", "app/flagger.yaml", "teams/a.yaml", "teams/b.yaml")
    found = lint.check(dict.fromkeys(names, text))
    return [str(one) for one in found]


def _of_configuration() -> Iterator[Parser]:
    written = _files("config/*/*.yaml", "flagger/*/*", "karmada/*/*.yaml", "rollouts/*/*.yaml")
    examples = _files("*/*.yaml", "*.yaml", root=ROOT / "examples")
    yield Parser("application", (*written, *examples), _application)
    teams = _files("*.yaml", root=_EXAMPLES)
    yield Parser("lint", (*written, *teams), _linted)
    yield Parser(
        "settings",
        _settings_examples(),
        lambda data: _said(settings_files.parse(_text(data), file="volary.yaml").problems),
    )
    fleets = [text for text in (*written, *examples) if b"Fleet" in text or b"Piped" in text]
    providers = _files("providers/*/*/case.yaml")
    fleets += [_provider_fleet(text) for text in providers]
    yield Parser(
        "fleet",
        fleets,
        lambda data: _said(fleet_files.parse(_text(data), file="fleet.yaml").problems),
    )
    yield from _of_projects()
    yield Parser("yaml", (*written, *_files("health/*/object.yaml")), _yaml)
    yield Parser("manifests", _files("health/*/object.yaml", "variants/**/*.yaml"), _manifests)


def _settings_examples() -> Sequence[bytes]:
    """Return the settings of the cases, of the deployment files and of the documentation."""
    found = [text for text in _files("config/*/*.yaml") if b"kind: Controller" in text]
    for page in sorted((ROOT / "docs").glob("**/*.md")):
        for block in page.read_text().split("```yaml\n")[1:]:
            text = block.partition("```")[0]
            if "kind: Controller" in text:
                found.append(text.encode())
    assert found
    return found


def _provider_fleet(case: bytes) -> bytes:
    import yaml as pyyaml

    body = pyyaml.safe_load(case)
    entry = {"name": "metrics", "type": body["type"], "config": body.get("config", {})}
    fleet = {"kind": "Fleet", "clusters": [{"name": "us"}], "analysisProviders": [entry]}
    return json.dumps(fleet).encode()


# Files of the platform team, and what follows from them.

_EUROPE = fleets.Cluster("eu", labels={"env": "prod"})
_DEPLOYMENT = restrictions.ObjectKind("apps", "Deployment", is_namespaced=True)
_PLACES = (
    membership.Place("mono", "teams/shop/volary.yaml", "main"),
    membership.Place("shop", "volary.yaml", ""),
)


def _project_files(data: bytes) -> Iterable[str]:
    """Read files as those of a repository and as those beside the settings, and go by them."""
    first, _, second = _text(data).partition("\n# another file\n")
    files = [
        project_files.TextFile(name, text)
        for name, text in (("teams/a.yaml", first), ("teams/b.yaml", second))
        if text
    ]
    known = definitions.Surroundings(("chat",), ("shop", "mono"), directory="/etc/volary")
    said: list[str] = []
    for surroundings in (known, replace(known, are_in_git=True)):
        loaded = project_files.parse(files, surroundings)
        said += _said(loaded.problems)
        if loaded.value is not None:
            said += _followed(loaded.value)
    return said


def _followed(known: definitions.Definitions) -> Iterator[str]:
    """Yield what is said where projects and workspaces that were read are gone by."""
    teams = membership.Projects(known.of(project_files.PROJECT))
    yield from (teams.membership(place).reason for place in _PLACES)
    for team in teams.by_name.values():
        # What a file may say is an identity that clusters can be asked as.
        yield identities.identity_of(team).user
        yield restrictions.refusal_of_cluster(team, _EUROPE)
        yield restrictions.refusal_of_object(
            team, _EUROPE, _DEPLOYMENT, namespace="shop", name="web"
        )
        yield from restrictions.named_namespaces(team)
        yield from (restrictions.refusal_of_stage(team, kind) for kind in catalog.listed())
    for workspace in known.of(project_files.WORKSPACE).values():
        yield workspace_manifests.digest(workspace)
        for part in workspace_manifests.render(workspace):
            yield from (str(item.key) for item in part.items)


def _stored_project_files(data: bytes) -> Iterable[str]:
    """Read them as they are kept, whatever became of the row."""
    try:
        document = msgspec.json.decode(data)
    except volary_json.UNREADABLE:
        return ()
    stored = records.ProjectFilesRecord("source", "0" * 40, "", document)
    return [file.name for file in project_registry.files_of(stored)]


def _stored_workspace(data: bytes) -> Iterable[str]:
    """Read one as it is kept, and make its objects."""
    try:
        document = msgspec.json.decode(data, type=dict[str, Any])
    except volary_json.UNREADABLE:
        return ()
    state = workspace_states.from_record(records.WorkspaceRecord("team-a", "team-a", document))
    workspace_manifests.digest(state.workspace)
    return [one.reason for one in state.clusters.values()]


def _tokens(data: bytes) -> Iterable[str]:
    """Read a file of tokens as a server does, and go by each."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, tokens.FILE_NAME)
        secret_files.write_private(path, data)
        read = tokens.TokenFile(Path(directory))
        try:
            read.find(f"volary_{CANARY}", _NOW)
            found = read.all()
        except errors.UserError as error:
            # The name of a directory that is always another one is no part of what is read.
            raise errors.user_error(str(error).replace(directory, "DATA")) from error
        return [f"{one.full_name} {one.state(_NOW)} {one.role}" for one in found]


def _of_projects() -> Iterator[Parser]:
    pages = sorted((ROOT / "docs").glob("**/*.md"))
    blocks = [
        block.partition("```")[0]
        for page in pages
        for block in page.read_text().split("```yaml\n")[1:]
    ]
    found = [
        block for block in blocks if "\nkind: Project\n" in block or "\nkind: Workspace\n" in block
    ]
    assert found
    written = (_EXAMPLES / "project.yaml").read_text()
    both = f"{written}\n# another file\n{(_EXAMPLES / 'workspace.yaml').read_text()}"
    words = (
        "'*'",
        "!shop",
        "system:masters",
        "[a-",
        "{a,b}",
        "**/",
        "oidc:",
        "token:",
        "10.0.0.0/8",
    )
    yield Parser(
        "project files", [text.encode() for text in (*found, both)], _project_files, words=words
    )
    kept = {"files": [{"name": "teams/a.yaml", "text": written}, {"name": "b.yaml", "text": ""}]}
    yield Parser("stored project files", [json.dumps(kept).encode()], _stored_project_files)
    shown = workspace_files.parse(
        (_EXAMPLES / "workspace.yaml").read_text(), file="workspace.yaml"
    ).require()
    state = workspace_states.WorkspaceState(
        shown, {"eu": workspace_states.ClusterState(reason="no answer", since=_NOW)}
    )
    stored = msgspec.json.encode(workspace_states.to_record(state, _NOW).document)
    yield Parser("stored workspace", (stored,), _stored_workspace)
    one = {
        "id": "1234abcd",
        "name": "ci",
        "hash": hashlib.sha256(f"volary_{CANARY}".encode()).hexdigest(),
        "role": "deployer",
        "created": "2026-11-20T12:00:00Z",
        "matchLabels": {"team": "shop"},
        "project": "shop",
        "expires": "2026-12-20T12:00:00Z",
        "revoked": None,
    }
    files = [[one, one], [{**one, "expires": "2026-12-20T12:00:00"}]]
    yield Parser(
        "tokens",
        [json.dumps({"version": 1, "tokens": listed}, indent=1).encode() for listed in files],
        _tokens,
    )


def _yaml(data: bytes) -> Iterable[str]:
    found = yaml.load_all(_text(data), "file.yaml")
    return [str(document.where(("spec", 0, "é"))) for document in found]


def _manifests(data: bytes) -> Iterable[str]:
    found = documents.parse(_text(data), file="app/all.yaml")
    documents.check_unique(found)
    masker = redaction.Masker()
    masker.learn(found)
    placeholders.refuse_ciphertexts(found)
    health = [assessment.assess(item.body).reason for item in found]
    return [masker.clean(text) for text in (*health, *(str(item.key) for item in found))]


# Texts in them.

_GLOBS = ("*", "**", "**/", "?", "[a-z]", "[^/]", "[", "]", "{a,b}", "\\", "!", "/", "a", "b.yaml")
_CEL = (
    *("object", "self", ".status", ".conditions", ".exists(c, ", ".all(x, ", ".map(y, ", ")", "("),
    *("c.type", "==", "'Ready'", "&&", "||", "!", "[0]", "{", "}", "[", "]", "size(", "has(", "1"),
    *(
        "9223372036854775807",
        "+",
        "-",
        "/",
        "%",
        "0",
        "string(",
        "int(",
        "matches(",
        "?",
        ":",
        "in",
    ),
    *("'''", 'r"', "timestamp(", "duration(", "'x'", ".filter(z, ", ",", "\n", "1e308", "*"),
)
_CRON = ("*", "/", "-", ",", "0", "5", "31", "2", "7", "mon", "feb", " ", "99", "١", "a")
_ICAL = (
    *("BEGIN:VEVENT\n", "END:VEVENT\n", "DTSTART:20261220T000000\n", "DTSTART;TZID=Europe/Berlin:"),
    *("DTEND:", "20261221T000000Z", "\n", "RRULE:", "FREQ=DAILY", ";COUNT=5000", ";INTERVAL=1"),
    *(";BYDAY=-1MO", ";UNTIL=", "EXDATE:", "DURATION:P1D\n", "SUMMARY:x\n", ";BYMONTHDAY=31"),
    *("FREQ=YEARLY", ";BYMONTH=2", "21991231T000000", "19700101", ";INTERVAL=99999999", " "),
)
_SUBJECTS: Sequence[Mapping[str, Any]] = (
    {"status": {"conditions": [{"type": "Ready", "status": "True"}] * 20, "replicas": 3}},
    {"metadata": {"labels": {str(i): "x" * 100 for i in range(200)}}, "status": {"n": 1.5}},
    {"status": None, "spec": []},
)


def _globs(data: bytes) -> Iterable[str]:
    patterns_, _, path = _words_of(data).partition("\n")
    chosen = patterns_.split(",")
    said = [globs.check(pattern) for pattern in chosen]
    globs.any_match(chosen, [path, "a/" * 200 + "b.yaml"])
    globs.matches(chosen, path)
    return said


def _expressions(data: bytes) -> Iterable[str]:
    read = expressions.parse(_words_of(data))
    said = []
    for body in _SUBJECTS:
        try:
            said.append(str(read.evaluate(expressions.Subject(dict(body)))))
        except expressions.EvaluationError as error:
            said.append(str(error))
    return said


def _result_conditions(data: bytes) -> Iterable[str]:
    read = result_conditions.parse(_words_of(data))
    said = []
    for values in ([0.5], [1.0, math.inf], [1e308] * 500):
        try:
            said.append(str(read.holds(values)))
        except expressions.EvaluationError as error:
            said.append(str(error))
    return said


def _cron(data: bytes) -> Iterable[str]:
    schedule = cron.parse(_words_of(data))
    return [str(schedule.next_day(date(2026, 1, 1)))]


def _recurrence(data: bytes) -> Iterable[str]:
    rule = _words_of(data)
    found = recurrence.parse(recurrence.write("20261220T000000", rule))
    return [str(found.next_day(date(2030, 5, 5))), recurrence.in_local_time(rule, "Europe/Berlin")]


def _calendar(data: bytes) -> Iterable[str]:
    windows = calendars.read(_words_of(data), name="freeze", zone="Europe/Berlin")
    for window in windows:
        recurrence.parse(window.recurrence).next_day(date(2027, 1, 1))
    return [f"{window.name} {window.duration}" for window in windows]


def _json_path(data: bytes) -> Iterable[str]:
    found = json_paths.parse(_words_of(data))
    return [str(value) for value in found.find({"data": [{"rate": [1, 2]}], "error rate": 2})]


def _of_texts() -> Iterator[Parser]:
    value = (ValueError,)
    yield Parser(
        "globs",
        (b"**/*.yaml,!docs/**\nservices/web/app.yaml", b"a/**/b\na/c/b", b"[a-z]?/x,*\nq/x"),
        _globs,
        words=_GLOBS,
    )
    yield Parser(
        "patterns",
        (
            rb"^(feat|fix)(\(.+\))?: .+$",
            b"(a+)+$",
            rb"\bdeploy\b",
            rb"(?i)[[:alpha:]]\p{Greek}{2,9}",
        ),
        lambda data: [str(patterns.search(_words_of(data), "a" * 5000 + "!"))],
        (patterns.PatternError,),
        words=(
            "(",
            ")",
            "+",
            "*",
            "{1000}",
            "{2,}",
            "a",
            "|",
            "[",
            "]",
            "\\p{L}",
            "(?P<x>",
            "$",
            ".",
        ),
    )
    yield Parser(
        "cel",
        (
            b"object.status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')",
            b"has(self.status) ? size(self.status.conditions) : 0",
            b"object.metadata.labels.map(k, k + k).size() > 3",
        ),
        _expressions,
        value,
        words=_CEL,
    )
    yield Parser(
        "result_conditions",
        (
            b"result < 0.05",
            b"result[0] < 0.05 && size(result) == 1",
            b"result.all(r, r < 0.5 || result.exists(s, s > r))",
        ),
        _result_conditions,
        value,
        words=_CEL,
    )
    yield Parser("cron", (b"0 8 * * mon-fri", b"*/5 0-6 1,15 feb 7"), _cron, value, words=_CRON)
    rules = (
        b"FREQ=WEEKLY;BYDAY=MO,TU;COUNT=10",
        b"FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29",
        b"FREQ=DAILY",
    )
    yield Parser("recurrence", rules, _recurrence, value, words=_ICAL)
    yield Parser("calendar", _calendars(), _calendar, value, words=_ICAL)
    yield Parser(
        "json path", (b"$.data[0].rate", b"$['error rate']", b"$.data[*].rate.*"), _json_path, value
    )


def _calendars() -> Sequence[bytes]:
    event = (
        "BEGIN:VCALENDAR\nVERSION:2.0\nBEGIN:VEVENT\nSUMMARY:Freeze\n"
        "DTSTART;TZID=Europe/Berlin:20261220T000000\nDTEND;TZID=Europe/Berlin:20270102T000000\n"
        "RRULE:FREQ=YEARLY;COUNT=5\nEXDATE:20271220T000000\nBEGIN:VALARM\nEND:VALARM\n"
        "END:VEVENT\nEND:VCALENDAR\n"
    )
    days = "BEGIN:VEVENT\nDTSTART;VALUE=DATE:20261224\nDURATION:P3D\nEND:VEVENT\n"
    return event.encode(), days.encode(), event.replace("\n", "\r\n").encode()


# Git.


def _address(data: bytes) -> Iterable[str]:
    text = _words_of(data)
    git_addresses.is_same(text, "https://host/x.git")
    said = [git_addresses.canonical(text), git_addresses.mask(text)]
    try:
        said.append(git_addresses.transport(text))
        said.append(git_addresses.resolve(text, "/srv"))
        git_addresses.branch(text)
    except ValueError as error:
        said.append(str(error))
    return said


def _listing(data: bytes) -> Iterable[str]:
    heads = branch_listing.parse(data)
    return [*heads.branches, heads.default]


def _complaint(data: bytes) -> Iterable[str]:
    text = data.decode("utf-8", "replace")
    heads = ssh_remote.parse(text)
    return [
        str(git_hosts.fetch_error("https://host/x.git", text)),
        *heads.branches,
        safe_text.one_line(text),
        safe_text.escaped(text),
    ]


def _push(data: bytes) -> Iterable[str]:
    said = []
    for provider in webhooks.Provider:
        signature = hmac.new(b"secret", data, hashlib.sha256).hexdigest()
        headers = {
            "x-gitlab-token": "secret",
            "x-hub-signature-256": f"sha256={signature}",
            "x-gitea-signature": signature,
            "x-hub-signature": f"sha256={signature}",
        }
        event = webhooks.read(provider, headers, data, "secret")
        assert isinstance(event, webhooks.PushEvent)
        said += [event.branch, event.commit]
        forged = {name: _words_of(data)[:200] for name in headers}
        assert isinstance(webhooks.read(provider, forged, data, "secret"), webhooks.Rejection)
    return said


def _of_git() -> Iterator[Parser]:
    yield Parser(
        "git address",
        (
            b"https://host/team/x.git",
            b"git@host:team/x.git",
            b"ssh://git@host:22/x",
            b"../x",
            b"main",
        ),
        _address,
        words=("://", "ssh", "@", ":", "-", "..", "[", "]", "/", "file", "::", "%", ".lock", "@{"),
    )
    line = b"003fe94f5f0a2a4d7e1d4a9d1a5cbe7bb8b4f0ce19b1 refs/heads/main\n0000"
    first = b"001e# service=git-upload-pack\n0000"
    yield Parser("git listing", (first + line, line * 3), _listing, (ValueError,))
    yield Parser(
        "git message",
        (
            b"ref: refs/heads/main\tHEAD\n"
            b"e94f5f0a2a4d7e1d4a9d1a5cbe7bb8b4f0ce19b1\trefs/heads/main\n",
            b"fatal: unable to access 'https://u:p@host/': 404",
            b"Fix: the sum\n\nSigned-off-by: Ana <ana@example.com>\n",
        ),
        _complaint,
        words=("\x1b[2J", "\u202e", "\r", "://a:b@", "refs/heads/", "\t", "status code: 403"),
    )
    yield Parser("webhook", _pushes(), _push)


def _pushes() -> Sequence[bytes]:
    commit = "e94f5f0a2a4d7e1d4a9d1a5cbe7bb8b4f0ce19b1"
    target = {"name": "main", "target": {"hash": commit}}
    events: Sequence[object] = (
        {"ref": "refs/heads/main", "after": commit, "commits": [{"id": commit}]},
        {"push": {"changes": [{"new": target, "old": None}]}},
        {"push": {"changes": [{"new": None}, {"new": target}]}},
    )
    return [json.dumps(event).encode() for event in events]


# What is rendered.


class MemoryTree:
    """A `trees.Tree` of files that are given; a path of `-> target` is a symbolic link."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = files

    def entry(self, path: str) -> trees.Entry | None:
        """Return what is at `path`; None when there is nothing."""
        content = self._files.get(path)
        if content is None:
            below = f"{path}/" if path else ""
            is_there = not path or any(name.startswith(below) for name in self._files)
            return trees.Entry(path, trees.Kind.DIRECTORY) if is_there else None
        kind = trees.Kind.SYMLINK if content.startswith(b"-> ") else trees.Kind.FILE
        return trees.Entry(path, kind, len(content))

    def list(self, path: str) -> tuple[trees.Entry, ...]:
        """Return what is directly in the directory at `path`, in lexical order."""
        below = f"{path}/" if path else ""
        names = {
            name.removeprefix(below).partition("/")[0]
            for name in self._files
            if name.startswith(below)
        }
        entries = (self.entry(paths.join(path, name)) for name in sorted(names))
        return tuple(entry for entry in entries if entry is not None)

    def read(self, path: str) -> bytes:
        """Return the content of the file at `path`; of a symbolic link, where it points."""
        return self._files[path].removeprefix(b"-> ")

    def identity(self, path: str) -> str:
        """Return a hash of what is at or below `path`."""
        below = sorted((name, data) for name, data in self._files.items() if name.startswith(path))
        return hashlib.sha256(repr(below).encode()).hexdigest()


def _kustomization(data: bytes) -> Iterable[str]:
    files = MemoryTree(
        {
            "app/kustomization.yaml": data,
            "app/base/kustomization.yaml": data,
            "app/generator.yaml": data,
            "app/deployment.yaml": b"kind: Deployment",
            "app/link": b"-> ../other",
            "other/kustomization.yaml": b"resources: []",
        }
    )
    return kustomizations.read(files, "app").parts


def _chart(data: bytes) -> Iterable[str]:
    files = MemoryTree(
        {"chart/Chart.yaml": data, "chart/values.schema.json": data, "chart/charts/a-1.tgz": b""}
    )
    helm.check_dependencies(files, "chart")
    helm.check_schemas(files, "chart")
    return ()


def _plain(data: bytes) -> Iterable[str]:
    link = b"-> " + data.partition(b"\n")[0]
    files = MemoryTree({"app/a.yaml": data, "app/b": data, "app/link": link})
    said = []
    for named, language in (((), "VOLARY"), (("link", "b", "../a", "b/c"), "PIPECD")):
        try:
            found = plain_files.read(files, "app", named, applications.Dialect[language])
        except errors.UserError as error:
            said += _said(error.problems)
        else:
            said += [str(item.key) for item in found]
    return said


def _of_sources() -> Iterator[Parser]:
    kustomize = _files("kustomize/*/*/**/*ustomization*", "kustomize/*/*/**/*.yaml")
    yield Parser(
        "kustomization",
        kustomize,
        _kustomization,
        words=("resources:", "- ", "base", "\n", "generators:", "https://x/y", "link", "../other"),
    )
    yield Parser("plain files", (b"../other\n", *_files("variants/**/*.yaml")), _plain)
    yield Parser(
        "chart",
        (
            b"apiVersion: v2\nname: web\nversion: 1.0.0\n"
            b"dependencies:\n- name: a\n  version: 1.x\n",
            b'{"$ref": "#/definitions/a", "definitions": {"a": {"type": "string"}}}',
        ),
        _chart,
    )


# Secrets in Git and beside it.


def _kubeconfig(data: bytes) -> Iterable[str]:
    read = kubeconfigs.merge([kubeconfigs.parse(_text(data), file="/nowhere/config")] * 2)
    said = []
    for context in (*read.contexts, "", "missing"):
        try:
            found = kubeconfigs.resolve(read, context, name="us")
            said.append(str(found.namespace))
        except errors.UserError as error:
            said += _said(error.problems)
    return said


def _credential(data: bytes) -> Iterable[str]:
    version = "client.authentication.k8s.io/v1"
    authenticators.parse_credential(data, version, cluster="us")
    return ()


def _sops(data: bytes) -> Iterable[str]:
    said: list[str] = []
    for path in ("a.yaml", "a.json", "a.env", "a.ini", "a"):
        found = sops_files.recognise(path, data)
        if found is not None:
            said += sops_files.key_kinds(found)
            sops_files.foreign_services(found, "https://vault.example.org")
            sops_files.secret_values(found, data.replace(b"ENC", b"dec"))
            said += sops_files.short_values(found)
    return said


@functools.cache
def _key() -> rsa.RSAPrivateKey:
    """Return a key that is always the same, so that a seed makes the same input again."""
    return ciphertexts.read_private_key((_EXAMPLES / "key.pem").read_text())


def _ciphertext(data: bytes) -> Iterable[str]:
    ciphertexts.decrypt(_words_of(data), _key())
    return ()


def _pem(data: bytes) -> Iterable[str]:
    ciphertexts.read_public_key(_words_of(data))
    return ()


def _template(data: bytes) -> Iterable[str]:
    made = templates.render(
        _text(data), {"encryptedSecrets": {"password": CANARY, "user": CANARY * 2}}
    )
    assert len(made) <= 16 * 1024 * 1024, f"{len(data)} bytes became {len(made)} characters"
    made.encode()
    return ()


def _of_secrets() -> Iterator[Parser]:
    yield Parser("kubeconfig", _kubeconfigs(), _kubeconfig, has_secret=True)
    credential = {
        "kind": "ExecCredential",
        "apiVersion": "client.authentication.k8s.io/v1",
        "status": {"token": CANARY, "expirationTimestamp": "2026-11-20T12:00:00Z"},
    }
    certificate = {"clientCertificateData": "-----BEGIN", "clientKeyData": CANARY}
    yield Parser(
        "exec credential",
        (
            json.dumps(credential, indent=1).encode(),
            json.dumps({**credential, "status": certificate}, indent=1).encode(),
        ),
        _credential,
        has_secret=True,
    )
    yield Parser("sops", _sops_examples(), _sops)
    sealed = (_EXAMPLES / "encrypted.txt").read_bytes()
    yield Parser("encrypted value", (sealed,), _ciphertext, (ciphertexts.CiphertextError,))
    public = (
        _key()
        .public_key()
        .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    private = _key().private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    yield Parser("key", (public, private), _pem, (ciphertexts.CiphertextError,))
    yield Parser(
        "template",
        (
            b"a: {{ .encryptedSecrets.password }}\n"
            b'b: {{ index .encryptedSecrets "user" | b64enc }}',
            b"{{- .encryptedSecrets.user | quote | nindent 4 -}}{{/* no */}}{{ `{{` }}",
            b'{{ print (.encryptedSecrets.user | replace "" "aaaaaaaa") "x" | upper }}',
        ),
        _template,
        (templates.TemplateError, errors.UserError),
        words=_TEMPLATES,
        has_secret=True,
    )


_TEMPLATES = (
    *("{{ ", " }}", ".encryptedSecrets.user", ".encryptedSecrets.password", " | ", "(", ")", " "),
    *('replace "" "aaaaaaaaaaaaaaaa"', "print", "quote", "b64dec", "b64enc", "index", "indent 999"),
    *(
        "nindent 999",
        '"\\ud800"',
        '"\\u0000"',
        "`x`",
        "toJson",
        "default",
        "trimAll",
        "1",
        "-",
        "/*",
    ),
    *("*/", "sha256sum", "urlquery", "squote", ".encryptedSecrets", "$", "true", "\n", "upper"),
)


def _kubeconfigs() -> Sequence[bytes]:
    def one(user: Mapping[str, object]) -> bytes:
        body = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "us",
            "contexts": [{"name": "us", "context": {"cluster": "us", "user": "me"}}],
            "clusters": [
                {
                    "name": "us",
                    "cluster": {
                        "server": "https://us:6443",
                        "certificate-authority-data": base64.b64encode(b"pem").decode(),
                        "proxy-url": "http://proxy:3128",
                    },
                }
            ],
            "users": [{"name": "me", "user": user}],
        }
        import yaml as pyyaml

        return pyyaml.safe_dump(body, width=10_000).encode()

    program = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "aws",
        "args": ["eks", "get-token"],
        "env": [{"name": "AWS_SECRET_ACCESS_KEY", "value": CANARY}],
        "interactiveMode": "Never",
        "provideClusterInfo": True,
    }
    certificate = {"client-certificate-data": "cGVt", "client-key-data": CANARY}
    return [
        one({"token": CANARY}),
        one({"username": "ana", "password": CANARY, "as": "root", "as-groups": ["a"]}),
        one(certificate),
        one({"exec": program}),
        one({"auth-provider": {"name": "gcp", "config": {"access-token": CANARY}}}),
    ]


def _sops_examples() -> Sequence[bytes]:
    value = "ENC[AES256_GCM,data:Zm9v,iv:YQ==,tag:YQ==,type:str]"
    section = (
        "sops:\n    age:\n        - recipient: age1x\n          enc: x\n    hc_vault:\n"
        "        - vault_address: https://vault.example.org\n          engine_path: x\n"
        "    azure_kv:\n        - vault_url: https://x.vault.azure.net\n"
        "    lastmodified: '2026-11-20T12:00:00Z'\n    mac: x\n    version: 3.9.0\n"
    )
    secret = (
        f"apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\nstringData:\n  a: {value}\n{section}"
    )
    env = f"A={value}\nsops_mac=x\nsops_version=3.9.0\nsops_hc_vault__list_0__map_vault_address=x\n"
    ini = f"[a]\nb={value}\n[sops]\nmac=x\nversion=3.9.0\n"
    as_json = {"data": value, "sops": {"mac": "x", "age": [{"recipient": "a"}]}}
    return [text.encode() for text in (secret, env, ini, json.dumps(as_json))]


# Requests.


def _token(data: bytes) -> Iterable[str]:
    # As a header arrives: every byte is a character.
    return _believed(data.decode("latin-1"))


def _believed(token: str) -> Iterable[str]:
    """Read a token as a server does, with the issuer's keys in a file."""
    error = asyncio.run(_refused(token))
    if error is not None:
        raise error
    return ()


async def _refused(token: str) -> Exception | None:
    issuer = issuers.Issuer(
        server_settings.Oidc(
            issuer="https://login.example.org",
            audience="volary",
            jwks_file=str(_EXAMPLES / "jwks.json"),
        )
    )
    async with asyncio.TaskGroup() as group:
        looking = group.create_task(issuer.keep_looking())
        try:
            await issuer.claims(token)
        except Exception as error:  # noqa: BLE001 - which one is what is looked for
            return error
        finally:
            looking.cancel()
    return None


def _jwt(claims: object, header: Mapping[str, object], *, by: str = "RS256") -> bytes:
    """Return a signed token of any claims and header."""
    parts = [
        base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=")
        for part in ({"alg": by, "kid": "one", **header}, claims)
    ]
    signature = jwt.algorithms.RSAAlgorithm(jwt.algorithms.RSAAlgorithm.SHA256).sign(
        b".".join(parts), _key()
    )
    return b".".join((*parts, base64.urlsafe_b64encode(signature).rstrip(b"=")))


_CLAIMS: Mapping[str, object] = {
    "iss": "https://login.example.org",
    "aud": "volary",
    "sub": CANARY,
    "exp": 4_000_000_000,
}


def _signed_token(data: bytes) -> Iterable[str]:
    """Read a token whose header or claims are broken, signed all the same: each kind of value."""
    chance = random.Random(data)
    claims, header = dict(_CLAIMS), dict[str, object]()
    target = claims if chance.random() < 0.6 else header
    name = chance.choice((*_CLAIMS, "nbf", "iat", "kid", "alg", "crit", "b64", "typ", "zip"))
    target[name] = changes.value(chance)
    return _believed(_jwt(claims, header).decode())


def _login_cookie(data: bytes) -> Iterable[str]:
    """Read what a browser sends of a login that began, and where it wants to go then."""
    text, now = _words_of(data), datetime(2030, 1, 1, tzinfo=UTC)
    attempt = authorization_code.read(text, now)
    for page in (authorization_code.page(text), attempt.next if attempt else "/"):
        assert page.startswith("/"), "not a path"
        assert not page.startswith(("//", "/\\")), "a host"
    return ()


def _cursor(data: bytes) -> Iterable[str]:
    raw = base64.urlsafe_b64encode(data).decode().rstrip("=")
    for text in (raw, _words_of(data)):
        for read in (
            pagination.by_time,
            pagination.by_name,
            pagination.by_rank,
            pagination.by_pair,
            pagination.by_position,
        ):
            _accepted(read, text)
    return ()


def _accepted(read: Any, text: str) -> None:
    try:
        found = read(text)
    except errors.UserError:
        return
    if isinstance(found, int):
        assert -(2**63) <= found < 2**63, "a number that no database takes"
    for part in found if isinstance(found, tuple) else (found,):
        if isinstance(part, str):
            assert "\0" not in part, "a text that no database takes"
            part.encode()
        if isinstance(part, datetime):
            assert part.tzinfo is not None, "a time of no zone"
            part.astimezone(UTC)


def _of_requests() -> Iterator[Parser]:
    tokens = (_jwt(_CLAIMS, {}), _jwt(_CLAIMS, {"kid": "two"}), b"volary_abc", b"a.b.c")
    deep = base64.urlsafe_b64encode(b'{"alg":' * 2000).rstrip(b"=") + b".e30.e30"
    refused = (issuers.RefusedError, errors.TemporaryError)
    yield Parser("token", (*tokens, deep), _token, refused)
    yield Parser("signed token", (b"1",), _signed_token, refused, has_secret=True)
    begun = authorization_code.begin(datetime(2030, 1, 1, tzinfo=UTC), "/runs/a?tab=log")
    pages = (authorization_code.write(begun).encode(), b"/fleet?region=eu", b"//evil.example")
    yield Parser("login cookie", pages, _login_cookie, words=("/", "\\", "%2f", ".", "@", ":"))
    cursors = (b'["web"]', b'["2026-11-20T12:00:00Z","01K"]', b"[4711]")
    yield Parser(
        "cursor", cursors, _cursor, words=("[", "]", '"', "1e400", "-", "9" * 19, "\\u0000")
    )
    yield Parser(
        "labels",
        (b"team=web", b"a=b=c"),
        lambda data: application_routes.read_labels(_words_of(data).split(",")).values() and (),
    )


# What agents send, and what servers send to them.


def _hello(data: bytes) -> Iterable[str]:
    said = hellos.read_hello(data)
    yield from (said.version, said.cluster, *said.policy)
    yield hellos.incompatible(said, "0.1.0", (1, 1))


def _welcome(data: bytes) -> Iterable[str]:
    return hellos.read_welcome(data).addresses


def _frame(data: bytes) -> Iterable[str]:
    frame = frames.decode(data)
    assert frames.encode(frame) == data
    if frame.kind is frames.Kind.CREDIT:
        assert 0 <= frame.credit < 2**32
    return (frame.reason,)


def _agent_policy(data: bytes) -> Iterable[str]:
    loaded = policy_files.parse(_text(data), file="policy.yaml")
    yield from _said(loaded.problems)
    if loaded.value is not None:
        yield from decisions.summary(loaded.value)
        work = decisions.Work("shop", "team-a", "K8S_SYNC")
        yield decisions.refusal_of_work(loaded.value, work, [decisions.Target("", "Pod", "shop")])
        asked = api_requests.read("GET", "/api/v1/namespaces/shop/secrets")
        yield decisions.refusal_of_request(loaded.value, asked)


def _api_request(data: bytes) -> Iterable[str]:
    method, _, target = _words_of(data).partition(" ")
    read = api_requests.read(method, target)
    assert api_requests.read(read.method, read.target) == read, "it is read as something else"
    assert ".." not in read.path
    return (read.what,)


def _of_agents() -> Iterator[Parser]:
    hello = hellos.Hello("0.1.0", (1, 2), "us", "uid", ("reads nothing",))
    welcome = hellos.Welcome("0.1.0", 1, "us", ("https://volary.example.org",))
    malformed = (hellos.MalformedError,)
    yield Parser("agent hello", (msgspec.json.encode(hello),), _hello, malformed)
    yield Parser("agent welcome", (msgspec.json.encode(welcome),), _welcome, malformed)
    sent = [
        frames.Frame(frames.Kind.OPEN, 1),
        frames.Frame(frames.Kind.DATA, 1, b"GET / HTTP/1.1"),
        frames.credit(1, 65536),
        frames.reset(1, "why"),
        frames.Frame(frames.Kind.PING, 0, b"12345678"),
    ]
    yield Parser("tunnel frame", [*map(frames.encode, sent)], _frame, (frames.MalformedError,))
    policy = (_EXAMPLES / "agent-policy.yaml").read_bytes()
    yield Parser("agent policy", (policy,), _agent_policy, words=("*", "group:", "true", "[", "{"))
    asked = (
        b"GET /apis/apps/v1/namespaces/shop/deployments/web?watch=1&limit=5",
        b"PATCH /api/v1/namespaces/shop/configmaps/web?dryRun=All&force=true",
        b"GET /api/v1/namespaces/shop/pods/web/log?follow=true",
        b"POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    )
    words = ("/", "..", "%2e", "%2f", "//", "?", "&", "=", ";", "#", "namespaces", "secrets", "log")
    yield Parser("agent request", asked, _api_request, (api_requests.RefusedError,), words=words)
    yield from _of_tasks()


def _order(data: bytes) -> Iterable[str]:
    signed = msgspec.json.decode(data, type=orders.SignedOrder)
    orders.verify(signed, [_SIGNING.public_key()], {"us"}, _ORDERED)
    yield signed.order


def _bundle(data: bytes) -> Iterable[str]:
    bundle = bundles.read(zlib.compress(data))
    return (bundle.run, bundle.application.name)


def _artifact(data: bytes) -> Iterable[str]:
    return (sealing.unseal(data, [_OPENING]).decode(),)


def _meeting(data: bytes) -> Iterable[str]:
    value = meeting_values.read(msgspec.json.decode(data))
    assert value is None or meeting_values.write(value) is not None
    return ()


def _worker_identity(data: bytes) -> Iterable[str]:
    return worker_identities.read(_text(data)).clusters


_SIGNING, _OPENING = keys.read(keys.generate()), keys.read_opening(keys.generate_opening())
_ORDERED = datetime(2026, 1, 1, tzinfo=UTC)


def _of_tasks() -> Iterator[Parser]:
    order = orders.Order("r", "shop", "", "us", "a" * 64, _ORDERED, _ORDERED + timedelta(days=1))
    signed = msgspec.json.encode(orders.sign(order, _SIGNING))
    unread = (orders.RefusedError, msgspec.MsgspecError, UnicodeDecodeError)
    yield Parser("order", (signed,), _order, unread)
    bundle = bundles.Bundle("r", applications.Application("shop"), fleets.Cluster("us"), ())
    written = zlib.decompress(bundles.write(bundle))
    yield Parser("bundle", (written,), _bundle, (errors.PermanentError,))
    sealed = sealing.seal(b"shop", [keys.public(_OPENING)])
    yield Parser("artifact", (sealed,), _artifact, (sealing.SealedError,))
    said = [
        msgspec.json.encode(meeting_values.write(value)) for value in (True, 3, "yes", _ORDERED)
    ]
    yield Parser("meeting", said, _meeting, volary_json.UNREADABLE)
    identity = worker_identities.WorkerIdentity(
        "hands",
        ("us",),
        ("https://volary.example.org",),
        hellos.Temporal("127.0.0.1:7233", "default", hellos.QUEUE_PREFIX, 30.0),
        keys.public(_SIGNING),
        "volary_agent_x",
        keys.generate_opening().decode(),
    )
    yield Parser("worker identity", (worker_identities.write(identity).encode(),), _worker_identity)


# What clusters answer.

_DEPLOYMENTS = discovery.Resource("apps", "v1", "Deployment", "deployments", True, frozenset())


def _of_clusters() -> Iterator[Parser]:
    recorded = _recorded()
    yield Parser("cluster answer", recorded, _cluster_answer)
    yield Parser("live object", _files("health/*/object.yaml"), _live_object)
    lines = [b'{"type":"ADDED","object":' + one + b"}" for one in recorded[:60]]
    yield Parser("watch", lines, _watch_line)
    tracked = [live_fleet.applied(kind, "web", spec={}) for kind in ("Deployment", "Secret")]
    stored = live_fleet.stored(("apps", "Deployment", "web"))
    ours = [json.dumps(one).encode() for one in (*tracked, stored, live_fleet.pod("a", "b"))]
    yield Parser("followed object", [*ours, *recorded[:60]], _followed_object)
    dates = (b"120", b"Wed, 21 Oct 2026 07:28:00 GMT", b"Fri, 31 Dec 9999 23:59:59 -2400")
    yield Parser(
        "retry after", dates, _retry_after, words=("9" * 12, "GMT", ":", ",", "-9999", " ")
    )


_DISCOVERIES: Sequence[Mapping[str, object]] = (
    {
        "kind": "APIGroupDiscoveryList",
        "items": [
            {
                "metadata": {"name": "apps"},
                "versions": [
                    {
                        "version": "v1",
                        "freshness": "Current",
                        "resources": [
                            {
                                "resource": "deployments",
                                "responseKind": {"group": "apps", "kind": "Deployment"},
                                "scope": "Namespaced",
                                "subresources": [{"subresource": "scale"}],
                            }
                        ],
                    }
                ],
            }
        ],
    },
    {
        "kind": "APIGroupList",
        "versions": ["v1"],
        "groups": [
            {
                "name": "apps",
                "versions": [{"groupVersion": "apps/v1", "version": "v1"}],
                "preferredVersion": {"version": "v1"},
            }
        ],
    },
    {
        "kind": "APIResourceList",
        "resources": [
            {"name": "deployments", "kind": "Deployment", "namespaced": True},
            {"name": "deployments/scale", "kind": "Scale", "namespaced": True},
        ],
    },
    {"kind": "DeploymentList", "metadata": {"resourceVersion": "1"}, "items": [{"spec": {}}]},
    {
        "kind": "Status",
        "code": 422,
        "reason": "Invalid",
        "message": "no",
        "details": {"causes": [{"reason": "FieldValueInvalid", "field": "spec", "message": "x"}]},
    },
)


def _objects_in(value: Any) -> Iterator[bytes]:
    if isinstance(value, dict) and isinstance(value.get("kind"), str):
        yield json.dumps(value).encode()
        return
    inside = value.values() if isinstance(value, dict) else value
    for inner in inside if isinstance(value, dict | list) else ():
        yield from _objects_in(inner)


def _recorded() -> Sequence[bytes]:
    """Return answers of real API servers, as they were recorded."""
    found = [
        text
        for path in sorted(_TRUTH.glob("*.json"))
        for text in _objects_in(json.loads(path.read_text()))
        if len(text) <= _LARGEST_EXAMPLE
    ]
    chance = random.Random(1)
    by_kind: dict[str, list[bytes]] = {}
    for text in dict.fromkeys(found):
        by_kind.setdefault(json.loads(text)["kind"], []).append(text)
    # Whose shapes the client relies on, in small.
    found = [json.dumps(one).encode() for one in _DISCOVERIES]
    for texts in by_kind.values():
        found += chance.sample(texts, min(8, len(texts)))
    return found


def _cluster_answer(data: bytes) -> Iterable[str]:
    body = transports._status(data) or transports._decode(data, "list deployments.apps")
    said = []
    for read in (
        lambda: requests.parse_page(body, _DEPLOYMENTS, what="list deployments.apps").items,
        lambda: discovery.parse_aggregated(body, body),
        lambda: discovery.parse_legacy_groups(body, body),
        lambda: discovery.parse_legacy_version("apps", "v1", body),
    ):
        try:
            read()
        except errors.VolaryError as error:
            said.append(str(error))
    for status in (301, 400, 403, 404, 409, 410, 422, 429, 500):
        said.append(str(api_errors.translate(status, body, what="patch deployments.apps web")))
    return said


def _live_object(data: bytes) -> Iterable[str]:
    try:
        found = [one.value for one in yaml.load_all(_text(data), "") if isinstance(one.value, dict)]
    except errors.UserError:
        return ()
    said = []
    for body in found:
        health = assessment.assess(body)
        said.append(health.reason)
        said.append(str(manifest.Manifest(body).key))
    return said


def _followed_object(data: bytes) -> Iterable[str]:
    body = transports._decode(data, "watch deployments.apps")
    known = cluster_objects.ClusterObjects()
    reading = entries.Reading(mask=lambda whole: secret_digests.with_digests(whole, b"key"))
    for role in sources.Role:
        source = sources.Source(role, "apps", "Deployment")
        known.replace(source, "", entries.read_all(source, [body], reading).entries)
        for owner in tuple(known.owners):
            tree = known.tree(owner, known.kinds)
            yield from (placed.node.reason for placed in tree.nodes)
            for packed in known.applied(owner).values():
                packing.unpack(packed)


def _watch_line(data: bytes) -> Iterable[str]:
    line = watches._decode(data, "watch deployments.apps")
    return [line.type, line.place]


def _retry_after(data: bytes) -> Iterable[str]:
    found = answers.retry_after({"Retry-After": data.decode("latin-1")}, _NOW)
    return [str(found)]


# What systems of metrics answer.


def _of_metrics() -> Iterator[Parser]:
    by_kind: dict[str, list[Path]] = {}
    for case in sorted(_CASES.glob("providers/*/*/case.yaml")):
        by_kind.setdefault(case.parts[-3], []).append(case.parent)
    for kind, folders in by_kind.items():
        recorded = [next(folder.glob("answer.*")).read_bytes() for folder in folders]
        asked = [_asked(folder) for folder in folders]
        yield Parser(
            f"metrics of {kind}",
            recorded,
            functools.partial(_measured, asked),
            (dialect.AnswerError,),
            words=(
                "NaN",
                "+Inf",
                '"',
                "[",
                "]",
                "{",
                "}",
                ",",
                "null",
                "1e400",
                "9" * 400,
                "<",
                ">",
            ),
        )

    yield Parser(
        "google token",
        (
            b'{"access_token": "ya29.c0", "expires_in": 3599, "token_type": "Bearer"}',
            b'{"error": "invalid_grant", "error_description": "Invalid JWT Signature."}',
        ),
        lambda data: [str(google_tokens.read(data).lifetime)],
        (dialect.AnswerError,),
        words=("null", "-1", "1e400", "true", '"', "\n"),
    )
    yield Parser(
        "google key", (_google_key(),), _google_grant, (dialect.AnswerError,), has_secret=True
    )
    yield Parser("failed job", (_failed_pods(),), _failed_job, words=("null", "[", "-1", "{}"))
    yield Parser(
        "document query",
        (
            b"level:error AND app:shop",
            b'{"bool": {"filter": [{"term": {"level": "error"}}, {"exists": {"field": "x"}}]}}',
        ),
        _document_query,
        words=("{", "}", '"query"', "[" * 2_000, "{{ name }}", "null"),
    )


def _failed_job(data: bytes) -> Iterable[str]:
    """Read pods and logs of a Job, as clusters tell of them and containers write them."""
    log, _, pods = data.partition(b"\n---\n")
    said = [metric_jobs.last_line(log.splitlines(keepends=True))]
    try:
        told = volary_json.decode(pods)
    except volary_json.UNREADABLE:
        return said
    listed = [pod for pod in told if isinstance(pod, dict)] if isinstance(told, list) else []
    failed = metric_jobs.failed_container(listed)
    said += [metric_jobs.shorten(failed[3]), failed[0]] if failed else []
    return [*said, *(str(metric_jobs.has_failed(pod)) for pod in listed)]


def _failed_pods() -> bytes:
    state = {"terminated": {"exitCode": 3, "finishedAt": "2026-11-28T12:00:00Z", "message": "no"}}
    pod = {
        "metadata": {"name": "check-x"},
        "status": {
            "containerStatuses": [{"name": "check", "state": state}],
            "conditions": [{"type": "Failed", "status": "True", "reason": "DeadlineExceeded"}],
        },
    }
    log = b"2026-11-28T12:00:00.5Z \x1b[31mPOST /pay: 500\x1b[0m\n2026-11-28T12:00:01Z end"
    return log + b"\n---\n" + json.dumps([pod, pod]).encode()


def _google_key() -> bytes:
    document = {
        "type": "service_account",
        "private_key_id": "k1",
        "private_key": f"-----BEGIN PRIVATE KEY-----\n{CANARY}\n-----END PRIVATE KEY-----\n",
        "client_email": "volary@shop.example",
        "token_uri": "https://oauth2.example/token",
    }
    return json.dumps(document, indent=2).encode()


def _google_grant(data: bytes) -> Iterable[str]:
    return [google_tokens.for_key(_words_of(data), _NOW).address]


def _document_query(data: bytes) -> Iterable[str]:
    text = _words_of(data)
    if said := [fault.message for fault in document_queries.faults(text)]:
        return said
    document_queries.read(text)
    return ()


def _asked(folder: Path) -> dialect.Dialect[Any]:
    import yaml as pyyaml

    case = pyyaml.safe_load((folder / "case.yaml").read_text())
    entry = {
        "name": "metrics",
        "type": case["type"],
        "config": {"address": "http://metrics:9090", **case.get("config", {})},
    }
    text = json.dumps({"kind": "Fleet", "clusters": [{"name": "us"}], "analysisProviders": [entry]})
    settings = fleet_files.parse(text, file="fleet.yaml").require().providers[0]
    asked = query.Query(
        text=case["query"],
        end=_NOW,
        window=timedelta(seconds=case.get("window", 60)),
        target="us",
        shape=query.Shape(case.get("shape", "points")),
    )
    return registry.make(settings, asked)


def _measured(asked: Sequence[dialect.Dialect[Any]], data: bytes) -> Iterable[str]:
    said = []
    for one in (*asked[:4], *asked[4:][-4:]):
        said.append(one.explain(data))
        try:
            for points in one.read(data):
                said += [str(point) for point in points[:3]]
        except dialect.AnswerError as error:
            said.append(str(error))
    return said
