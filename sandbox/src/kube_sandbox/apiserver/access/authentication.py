"""Who sends a request: one of the server's accounts, or a ServiceAccount by its token."""

import hmac
from collections.abc import Sequence

from kube_sandbox.apimachinery.meta import api_errors
from kube_sandbox.apiserver.access import tokens, users
from kube_sandbox.apiserver.storage import verbs


class Authenticator:
    """Knows the accounts of one server and the tokens its cluster issued."""

    def __init__(self, accounts: Sequence[users.Account], issuer: tokens.Issuer) -> None:
        self._accounts = accounts
        self._issuer = issuer

    def identify(self, header: str) -> verbs.User:
        """Return who sends an Authorization header.

        Raises:
            api_errors.StatusError: 401, a token nobody has.
        """
        if not header:
            return users.ANONYMOUS
        scheme, _, token = header.partition(" ")
        try:
            if scheme.lower() == "bearer":
                return self.holder(token.strip())
        except tokens.TokenError:
            pass  # why it is refused is nobody's business
        raise api_errors.StatusError(401, "Unauthorized")

    def holder(self, token: str, audiences: tuple[str, ...] = (tokens.AUDIENCE,)) -> verbs.User:
        """Return whose token it is.

        Raises:
            tokens.TokenError: Nobody's.
        """
        for account in self._accounts:
            if hmac.compare_digest(account.token.encode(), token.encode()):
                return account.user
        return self._issuer.authenticate(token, audiences)
