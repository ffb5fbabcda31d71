"""What is known of locked packages is told; where nobody can be asked, that is."""

import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import audit
import pytest

_LOCK = "good==1.0 \\\n    --hash=sha256:{}\n    # via volary\nbad==2.0 \\\n    --hash=sha256:{}\n"


class Database(http.server.BaseHTTPRequestHandler):
    """Knows of one package."""

    answer: ClassVar[bytes | None] = None

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["queries"]
        known = {"bad": {"vulns": [{"id": "GHSA-1"}, {"id": "PYSEC-2"}]}}
        results = [known.get(query["package"]["name"], {}) for query in asked]
        body = self.answer or json.dumps({"results": results}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def database() -> Iterator[str]:
    with http.server.HTTPServer(("127.0.0.1", 0), Database) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def lock(tmp_path: Path) -> str:
    file = tmp_path / "lock"
    file.write_text(_LOCK.format("0" * 64, "1" * 64))
    return str(file)


def test_what_is_vulnerable_is_named(
    database: str, lock: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert audit.main([lock], database) == 1

    said = capsys.readouterr().out
    assert said == "bad 2.0: GHSA-1, PYSEC-2\n2 packages, 1 with known vulnerabilities\n"


def test_where_nothing_is_known_all_is_well(
    database: str, lock: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(lock).write_text(_LOCK.partition("bad")[0].format("0" * 64))

    assert audit.main([lock], database) == 0
    assert capsys.readouterr().out == "1 packages, 0 with known vulnerabilities\n"


@pytest.mark.parametrize("answer", [None, b"<html>", b'{"results": []}', b"{}", b"[]"])
def test_where_nobody_can_be_asked_it_says_so_and_passes(
    answer: bytes | None,
    database: str,
    lock: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Database, "answer", answer)

    assert audit.main([lock], database if answer else "http://127.0.0.1:9") == 0
    assert capsys.readouterr().out.startswith("nothing was audited: no database can be reached (")
