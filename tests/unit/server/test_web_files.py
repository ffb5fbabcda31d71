"""The web UI from the server: files, the page, caches, and what is not there."""

import gzip
from pathlib import Path

import aiohttp
import pytest
from yarl import URL

import server_world
from volary.model import errors
from volary.server import web_files

PAGE = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.fixture
def build(tmp_path: Path) -> Path:
    """A build of a UI, with a secret beside it."""
    base = tmp_path / "dist"
    (base / "assets").mkdir(parents=True)
    (base / ".vite").mkdir()
    (base / ".vite" / "manifest.json").write_text("{}")
    (base / "index.html").write_text("<!doctype html><title>Volary</title>")
    script = b"export const answer = 42;" * 50
    (base / "assets" / "index-abc.js").write_bytes(script)
    (base / "assets" / "index-abc.js.gz").write_bytes(gzip.compress(script))
    (base / "assets" / "index-abc.js.br").write_bytes(b"as brotli")
    (base / "icon.svg").write_text("<svg/>")
    (tmp_path / "secret.txt").write_text("not for browsers")
    (base / "out.txt").symlink_to(tmp_path / "secret.txt")
    return base


async def test_the_page_is_at_every_screen_and_its_files_are_kept(
    tmp_path: Path, build: Path
) -> None:
    async with server_world.served(tmp_path / "data", web=build) as world:
        for path in ("/", "/runs/run-web?tab=log", "/applications/web.v2", "/fleet"):
            async with world.session.get(world.url + path, headers=PAGE) as answer:
                text = await answer.text()
                assert (answer.status, answer.headers["cache-control"]) == (200, "no-cache"), path
                assert text == "<!doctype html><title>Volary</title>"
        async with world.session.get(f"{world.url}/assets/index-abc.js") as script:
            assert script.headers["cache-control"] == "public, max-age=31536000, immutable"
            assert script.headers["content-type"] == "text/javascript; charset=utf-8"
        async with world.session.head(f"{world.url}/icon.svg") as icon:
            assert (icon.status, icon.headers["content-length"]) == (200, "6")


async def test_it_is_sent_in_the_smallest_form_that_the_browser_takes(
    tmp_path: Path, build: Path
) -> None:
    sizes = {}
    async with (
        server_world.served(tmp_path / "data", web=build) as world,
        aiohttp.ClientSession(auto_decompress=False) as raw,
    ):
        address = f"{world.url}/assets/index-abc.js"
        for accepted in ("br, gzip", "gzip", "gzip, br;q=0", "identity"):
            headers = {"accept-encoding": accepted}
            async with raw.get(address, headers=headers) as answer:
                sizes[accepted] = answer.headers.get("content-encoding", "")
                tag, content = answer.headers["etag"], await answer.read()
                assert answer.headers["vary"] == "accept-encoding"
            if sizes[accepted] == "br":
                assert content == b"as brotli"
            else:
                is_zipped = sizes[accepted] == "gzip"
                assert len(gzip.decompress(content) if is_zipped else content) == 25 * 50
            again = {**headers, "if-none-match": tag}
            async with raw.get(address, headers=again) as known:
                assert (known.status, await known.read()) == (304, b"")

    assert sizes == {"br, gzip": "br", "gzip": "gzip", "gzip, br;q=0": "gzip", "identity": ""}


async def test_pages_may_do_nothing_but_what_they_need(tmp_path: Path, build: Path) -> None:
    async with server_world.served(tmp_path / "data", web=build) as world:
        async with world.session.get(world.url, headers=PAGE) as answer:
            policies, headers = answer.headers.getall("content-security-policy"), answer.headers
        async with world.session.get(f"{world.url}/api/v1/session") as answer:
            of_api = answer.headers.getall("content-security-policy")

    [policy] = policies
    assert "unsafe" not in policy
    assert "script-src 'self';" in policy
    assert "frame-ancestors 'none'" in policy
    assert of_api == ["default-src 'none'; frame-ancestors 'none'"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-frame-options"] == "DENY"


@pytest.mark.parametrize(
    "path",
    [
        "/secret.txt",
        "/../secret.txt",
        "/%2e%2e/secret.txt",
        "/assets/..%2f..%2fsecret.txt",
        "/assets/%2e%2e/%2e%2e/secret.txt",
        "//etc/passwd",
        "/out.txt",
        "/.vite/manifest.json",
        "/assets/index-abc.js.br",
        "/assets/gone-def.js",
        "/index.html%00",
    ],
)
async def test_nothing_else_is_there(tmp_path: Path, build: Path, path: str) -> None:

    async with server_world.served(tmp_path / "data", web=build) as world:
        address = URL(world.url + path, encoded=True)
        async with world.session.get(address) as answer:
            status, text = answer.status, await answer.text()

    assert (status, "not for browsers" in text) == (404, False)


@pytest.mark.parametrize("path", ["/api/v2/runs", "/api", "/auth/none", "/webhooks", "/metrics/x"])
async def test_what_is_not_of_the_ui_is_not_answered_with_a_page(
    tmp_path: Path, build: Path, path: str
) -> None:
    async with server_world.served(tmp_path / "data", web=build) as world:
        status, problem = await world.ask("GET", path, headers=PAGE)
        wrong, _ = await world.ask("GET", "/api/v1/tokens/ci/revoke", headers=PAGE)
        posted, _ = await world.ask("POST", "/fleet", headers=PAGE)

    assert (status, problem["detail"]) == (404, "there is nothing at this path")
    assert (wrong, posted) == (405, 405)


async def test_without_a_ui_there_is_no_page(tmp_path: Path, build: Path) -> None:
    async with server_world.served(tmp_path / "data", web=build, ui=False) as world:
        for path in ("/", "/icon.svg", "/fleet"):
            status, problem = await world.ask("GET", path, headers=PAGE)
            assert (status, problem["detail"]) == (404, "there is nothing at this path")
        fine, _ = await world.ask("GET", "/api/v1/session")

    assert fine == 200


async def test_where_it_was_not_built_a_page_says_how_to(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    async with server_world.served(tmp_path / "data", web=tmp_path / "empty") as world:
        status, text = await world.ask("GET", "/", headers=PAGE)
        program, _ = await world.ask("GET", "/")

    assert (status, program) == (503, 503)
    assert "make web" in text


def test_a_folder_that_is_no_build_is_refused(build: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_files, "_MOST_FILES", 3)

    with pytest.raises(errors.UserError, match="too many files"):
        web_files.load(build)
