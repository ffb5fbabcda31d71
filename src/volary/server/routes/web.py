"""The web UI: its files, and its one page at every address of a screen."""

from starlette import convertors, exceptions, requests, responses

from volary.server import server_state, web_files
from volary.server.authorization import access
from volary.server.permissions import Permission
from volary.server.routes import response_schemas

#: Scripts, styles and data come from this server alone, nothing is written into the page, and no
#: other page holds it in a frame.
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "font-src 'self'",
        "connect-src 'self'",
        "manifest-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
_IMMUTABLE, _FRESH = "public, max-age=31536000, immutable", "no-cache"
_NOT_BUILT = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Volary</title>
<h1>The web UI was not built</h1>
<p>This server runs from a checkout in which nobody has built it. <code>make web</code> builds it;
restart the server then. Volary's wheel has it built.</p>
<p>The command line and the API do everything without it: <code>volary --help</code>. To have no
page here, write <code>ui: false</code> in the settings, or start <code>volary server
--no-ui</code>.</p>
</html>
"""


class ScreenPath(convertors.Convertor[str]):
    """Any path that is none of the API's, of logins, of webhooks or of monitoring."""

    regex = "(?!(?:api|auth|webhooks|metrics|healthz|readyz)(?:/|$)).*"

    def convert(self, value: str) -> str:
        """Return the path."""
        return value

    def to_string(self, value: str) -> str:
        """Return the path."""
        return value


convertors.register_url_convertor("screen", ScreenPath())
router = response_schemas.router("ui", prefix="")


@router.api_route("/{path:screen}", methods=["GET", "HEAD"], include_in_schema=False)
@access.needs(Permission.PUBLIC)
async def serve_web_file(request: requests.Request) -> responses.Response:
    """Answer with a file of the UI; a path without one is a screen's, which the page shows."""
    here = server_state.of(request)
    if not here.settings.ui:
        raise exceptions.HTTPException(404)
    path = str(request.path_params["path"])
    file = here.web.find(path)
    if file is None:
        # Programs that ask for what is not there are not given a page.
        is_page = not path or "text/html" in request.headers.get("accept", "")
        if not is_page or path.startswith("assets/"):
            raise exceptions.HTTPException(404)
        file = here.web.index
    if file is None:
        return _with_policy(responses.HTMLResponse(_NOT_BUILT, 503))
    return _with_policy(_answer(request, file))


def _answer(request: requests.Request, file: web_files.WebFile) -> responses.Response:
    encoding, content = file.best(request.headers.get("accept-encoding", ""))
    headers = {
        "cache-control": _IMMUTABLE if file.is_immutable else _FRESH,
        "etag": f'"{file.tag}{encoding and f"-{encoding}"}"',
        "vary": "accept-encoding",
    }
    if request.headers.get("if-none-match", "") == headers["etag"]:
        return responses.Response(status_code=304, headers=headers)
    if encoding:
        headers["content-encoding"] = encoding
    # Starlette would add a charset of its own.
    answer = responses.Response(content, headers={**headers, "content-type": file.media_type})
    if request.method == "HEAD":
        answer.body = b""
    return answer


def _with_policy(answer: responses.Response) -> responses.Response:
    answer.headers["content-security-policy"] = POLICY
    return answer
