"""Tokens of Google Cloud: for the key of a service account, or for the machine's own identity."""

from datetime import datetime, timedelta
from urllib import parse

from volary.analysis.providers.dialects import dialect

#: Reading metrics, and nothing else.
_SCOPE = "https://www.googleapis.com/auth/monitoring.read"
_GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_LIFETIME = timedelta(hours=1)
_OWN_IDENTITY = "/computeMetadata/v1/instance/service-accounts/default/token"
_ERRORS = (("error_description",), ("error",))


def for_key(document: str, now: datetime) -> dialect.Grant:
    """Return how a token is asked for with the key of a service account, as Google writes it.

    Raises:
        dialect.AnswerError: It is no such key; never repeats what is in it.
    """
    import jwt  # a heavy one, and only this kind of system needs it

    try:
        key = dialect.mapping(dialect.decode(document.encode()))
    except dialect.AnswerError:
        key = {}
    parts = [key.get(name) for name in ("client_email", "private_key", "token_uri")]
    texts = [part for part in parts if isinstance(part, str) and part]
    if len(texts) != len(parts) or not _is_address(texts[2]):
        raise dialect.AnswerError("is not asked: its key is not that of a service account")
    email, private_key, address = texts
    issued = int(now.timestamp())
    claims = {
        "iss": email,
        "scope": _SCOPE,
        "aud": address,
        "iat": issued,
        "exp": issued + int(_LIFETIME.total_seconds()),
    }
    headers = {"kid": str(key["private_key_id"])} if key.get("private_key_id") else None
    try:
        signed = jwt.encode(claims, private_key, algorithm="RS256", headers=headers)
    except (jwt.PyJWTError, ValueError, TypeError):
        raise dialect.AnswerError("is not asked: the private key of its key is none") from None
    body = parse.urlencode({"grant_type": _GRANT, "assertion": signed}).encode()
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    return dialect.Grant(address, headers=form, body=body)


def _is_address(text: str) -> bool:
    try:
        url = parse.urlsplit(text)
    except ValueError:
        return False
    return url.scheme in ("https", "http") and bool(url.hostname) and "@" not in url.netloc


def for_machine(metadata_address: str) -> dialect.Grant:
    """Return how the machine, or the pod, is asked for a token of its own identity."""
    address = f"{metadata_address.rstrip('/')}{_OWN_IDENTITY}"
    return dialect.Grant(address, method="GET", headers={"Metadata-Flavor": "Google"})


def read(body: bytes) -> dialect.Token:
    """Return the token of a good answer.

    Raises:
        dialect.AnswerError: There is none in it.
    """
    answer = dialect.mapping(dialect.decode(body))
    token, seconds = answer.get("access_token"), answer.get("expires_in", 0)
    is_token = isinstance(token, str) and token.isascii() and token.isprintable() and token
    if not is_token or not isinstance(token, str):
        said = dialect.words_at(answer, _ERRORS)
        raise dialect.AnswerError("was granted no token" + (f": {said}" if said else ""))
    is_number = isinstance(seconds, int) and not isinstance(seconds, bool)
    lifetime = max(0, min(seconds, 86_400)) if is_number and isinstance(seconds, int) else 0
    return dialect.Token(token, timedelta(seconds=lifetime))
