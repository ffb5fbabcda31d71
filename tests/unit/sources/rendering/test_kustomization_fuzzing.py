"""What passes the check names no server: found out by the real kustomize, with nothing around it.

Kustomizations are made up of fields, forms and addresses that lead to a server of ours. Those that
are not refused are built as a server builds them, but without isolation; nobody may connect.
``--hypothesis-profile exploring`` tries many more.
"""

import contextlib
import http.server
import json
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

import process_time
from volary.model import errors
from volary.sources.rendering import kustomizations, programs, workspace
from volary.sources.trees import directories, overlays

KUBECTL = programs.find()["kubectl"]
PORT = "PORT"
ADDRESS = f"http://127.0.0.1:{PORT}/x"
#: Ways to write it, some of which are paths, and paths that are there.
ADDRESSES = [
    *(ADDRESS, ADDRESS.upper(), f"a={ADDRESS}", f"{ADDRESS}=a", f" {ADDRESS}", f"{ADDRESS}\n"),
    *(f"./{ADDRESS}", f"http:/127.0.0.1:{PORT}/x", f"127.0.0.1:{PORT}/x", f"git::{ADDRESS}"),
    *(
        f"{ADDRESS}//a?ref=b",
        f"{ADDRESS}: a",
        f"'{ADDRESS}'",
        f"{{a: '{ADDRESS}'}}",
        f"- {ADDRESS}",
    ),
]
PATHS = ["map.yaml", "words.txt", "k=words.txt", "base", "plugin.yaml", "./base", "plugins"]
texts = some.sampled_from([ADDRESS]) | some.sampled_from(ADDRESSES) | some.sampled_from(PATHS)
#: Mostly as it is written.
SPELLINGS = [*[str] * 6, str.upper, str.capitalize, lambda name: name.replace("s", "\u017f")]


def spelt(name: str) -> some.SearchStrategy[str]:
    return some.sampled_from(SPELLINGS).map(lambda change: change(name))


def one_field(name: str, value: some.SearchStrategy[object]) -> some.SearchStrategy[object]:
    return some.builds(lambda key, given: {key: given}, spelt(name), value)


lists = some.lists(texts, min_size=1, max_size=2)
#: An object with one path in it.
entries = one_field("path", texts).map(lambda entry: [{"name": "made", **entry}])
sources = some.one_of(
    one_field("files", lists), one_field("envs", lists), one_field("env", texts)
).map(lambda entry: {"name": "made", **entry})
settings_of_plugins = {
    "ConfigMapGenerator": sources,
    "SecretGenerator": sources,
    "PatchTransformer": one_field("path", texts),
    "PatchJson6902Transformer": one_field("path", texts),
    "PatchStrategicMergeTransformer": one_field("paths", lists),
    "ValueAddTransformer": one_field("targetFilePath", texts),
    "ReplacementTransformer": one_field("replacements", entries),
    "HelmChartInflationGenerator": one_field("repo", texts),
    "Other": one_field("path", texts),
}
plugins = some.sampled_from(sorted(settings_of_plugins)).flatmap(
    lambda kind: settings_of_plugins[kind].map(
        lambda given: {
            "apiVersion": "builtin",
            "kind": kind,
            **given,
            "metadata": {"name": "made"},
            "target": {"kind": "ConfigMap"},
        }
    )
)
in_place = plugins.map(json.dumps) | plugins.map(lambda body: f"# \n{json.dumps(body, indent=1)}")
plugin_lists = some.lists(in_place | texts, min_size=1, max_size=2)
bodies = some.one_of(
    *(one_field(name, plugin_lists) for name in ("generators", "transformers", "validators")),
    *(
        one_field(name, lists)
        for name in ("resources", "bases", "components", "crds", "configurations")
    ),
    *(one_field(name, entries) for name in ("patches", "patchesJson6902", "replacements")),
    *(
        one_field(name, sources.map(lambda entry: [entry]))
        for name in ("configMapGenerator", "secretGenerator")
    ),
    one_field("patchesStrategicMerge", lists),
    one_field("openapi", one_field("path", texts)),
).map(lambda body: {"resources": ["map.yaml"], **body})
MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"


class _Handler(http.server.BaseHTTPRequestHandler):
    connections = 0

    def handle(self) -> None:
        type(self).connections += 1
        super().handle()

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(MAP.encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            serving.join()


def build(root: Path, files: dict[str, str]) -> bool:
    """Check and build; say whether it passed the check."""
    for path, text in files.items():
        (root / "tree" / path).parent.mkdir(parents=True, exist_ok=True)
        (root / "tree" / path).write_text(text)
    tree = directories.DirectoryTree(root / "tree")
    try:
        read = kustomizations.read(tree, "app")
    except errors.UserError:
        return False
    (root / "copy").mkdir()
    overlaid = overlays.OverlaidTree(tree, read.contents)
    workspace.write(overlaid, read.parts, root / "copy", workspace.Limits())
    subprocess.run(
        [KUBECTL, "kustomize", str(root / "copy" / "app")],
        env={},
        capture_output=True,
        check=False,
        timeout=process_time.HANG,
    )
    return True


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=bodies, plugin=plugins, inner=plugins)
def test_what_passes_the_check_connects_to_nobody(
    body: dict[str, object],
    plugin: dict[str, object],
    inner: dict[str, object],
    port: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    root = tmp_path_factory.mktemp("fuzzed")
    files = {
        "app/kustomization.yaml": json.dumps(body, ensure_ascii=False),
        "app/map.yaml": MAP,
        "app/words.txt": "a=b",
        "app/plugin.yaml": json.dumps(plugin, ensure_ascii=False),
        "app/plugins/kustomization.yaml": "resources: [inner.yaml]",
        "app/plugins/inner.yaml": json.dumps(inner, ensure_ascii=False),
        "app/base/kustomization.yaml": "resources: [map.yaml]",
        "app/base/map.yaml": MAP.replace("name: a", "name: b"),
        # What looks as if it were there.
        f"app/http:/127.0.0.1:{PORT}/x": MAP.replace("name: a", "name: c"),
        f"app/127.0.0.1:{PORT}/x/kustomization.yaml": "resources: []",
    }
    _Handler.connections = 0

    with contextlib.suppress(OSError):
        build(
            root,
            {
                path.replace(PORT, str(port)): text.replace(PORT, str(port))
                for path, text in files.items()
            },
        )

    assert _Handler.connections == 0


def test_the_server_would_notice(port: int, tmp_path: Path) -> None:
    """What the test above is worth."""
    (tmp_path / "kustomization.yaml").write_text(f"resources: ['http://127.0.0.1:{port}/x']")
    _Handler.connections = 0

    ended = subprocess.run(
        [KUBECTL, "kustomize", str(tmp_path)],
        env={},
        capture_output=True,
        check=False,
        timeout=process_time.HANG,
    )

    assert ended.returncode == 0
    assert _Handler.connections > 0
