"""Tokens of ServiceAccounts: signed, bound to an account, and good for a while only.

They are JSON Web Tokens as those of real clusters, signed with a key of this process
instead of a key pair: nobody but the server itself checks them.
"""

import base64
import binascii
import hashlib
import hmac
import secrets
from datetime import timedelta

import msgspec

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import api_errors, causes
from kube_sandbox.apimachinery.scheme import kinds
from kube_sandbox.apiserver.access import users
from kube_sandbox.apiserver.storage import cluster_state, verbs

#: The server's own audience, and the issuer of all tokens.
AUDIENCE = "https://kubernetes.default.svc"
_SHORTEST = 600
_LONGEST = 2**32
_USUAL = 3600
#: Kinds a token can be bound to: it ends with the object.
_BOUND = {"Pod": kinds.POD, "Secret": kinds.built_in("", "v1", "Secret")}


class TokenError(Exception):
    """A token is not one of this cluster's, or not good any more."""


class Issuer:
    """Issues tokens for the ServiceAccounts of one cluster, and knows them again."""

    def __init__(self, state: cluster_state.ClusterState) -> None:
        self._state = state
        self._key = secrets.token_bytes(32)

    def issue(self, namespace: str, name: str, body: object) -> json.JsonObject:
        """Answer a ``TokenRequest`` for a ServiceAccount.

        Raises:
            api_errors.StatusError: 400, 404, 409 or 422.
        """
        account = self._state.find(kinds.SERVICE_ACCOUNT, namespace, name)
        if account is None:
            raise api_errors.not_found("", "serviceaccounts", name)
        spec = _spec(body)
        seconds = spec.get("expirationSeconds") or _USUAL
        _check(seconds)
        bound = spec.get("boundObjectRef")
        holder = self._holder(namespace, bound) if bound else None
        audiences = list(spec.get("audiences") or (AUDIENCE,))
        now = self._state.time.now()
        expires = now + timedelta(seconds=seconds)
        uid = account["metadata"]["uid"]
        about: json.JsonObject = {
            "namespace": namespace,
            "serviceaccount": {"name": name, "uid": uid},
        }
        if holder is not None:
            metadata = holder["metadata"]
            about[holder["kind"].lower()] = {"name": metadata["name"], "uid": metadata["uid"]}
        claims = {
            "aud": audiences,
            "exp": int(expires.timestamp()),
            "iat": int(now.timestamp()),
            "iss": AUDIENCE,
            "jti": self._state.uid(),
            "kubernetes.io": about,
            "nbf": int(now.timestamp()),
            "sub": users.service_account(namespace, name).name,
        }
        return {
            "kind": "TokenRequest",
            "apiVersion": "authentication.k8s.io/v1",
            "metadata": {
                "name": name,
                "namespace": namespace,
                "uid": uid,
                "creationTimestamp": self._state.stamp(),
            },
            "spec": {
                "audiences": audiences,
                "expirationSeconds": seconds,
                "boundObjectRef": bound or None,
            },
            "status": {
                "token": self._signed(claims),
                "expirationTimestamp": expires.strftime("%Y-%m-%dT%H:%M:%SZ"),
            },
        }

    def _holder(self, namespace: str, bound: json.JsonObject) -> json.JsonObject:
        """Return the object a token is to be bound to."""
        kind = _BOUND.get(str(bound.get("kind", "")))
        if kind is None:
            raise api_errors.bad_request(f"cannot bind token to object of type {bound}")
        name = str(bound.get("name", ""))
        found = self._state.find(kind, namespace, name)
        if found is None:
            raise api_errors.not_found("", kind.plural, name)
        if bound.get("uid") not in (None, "", found["metadata"]["uid"]):
            why = (
                f"the UID in the bound object reference ({bound['uid']}) does not match the UID in "
                f"record. The object might have been deleted and then recreated"
            )
            raise api_errors.conflict("", kind.plural, name, why)
        return {**found, "kind": kind.name}

    def _signed(self, claims: json.JsonObject) -> str:
        header = {"alg": "HS256", "typ": "JWT"}
        text = b".".join(_encode(msgspec.json.encode(part)) for part in (header, claims))
        return (text + b"." + _encode(self._signature(text))).decode()

    def _signature(self, text: bytes) -> bytes:
        return hmac.digest(self._key, text, hashlib.sha256)

    def authenticate(self, token: str, audiences: tuple[str, ...] = (AUDIENCE,)) -> verbs.User:
        """Return whose token it is.

        Raises:
            TokenError: Nobody's, or it has ended; the message is the server's.
        """
        claims = self._claims(token)
        if claims["exp"] < self._state.time.now().timestamp():
            raise TokenError("service account token has expired")
        if not set(audiences) & set(claims["aud"]):
            raise TokenError(f"token audiences {claims['aud']} is invalid for the target audiences")
        about = claims["kubernetes.io"]
        namespace, account = about["namespace"], about["serviceaccount"]
        self._require(kinds.SERVICE_ACCOUNT, namespace, account)
        for name, kind in _BOUND.items():
            if name.lower() in about:
                self._require(kind, namespace, about[name.lower()])
        return users.service_account(namespace, account["name"], uid=account["uid"])

    def _claims(self, token: str) -> json.JsonObject:
        text, _, signature = token.rpartition(".")
        try:
            if hmac.compare_digest(self._signature(text.encode()), _decode(signature)):
                claims: json.JsonObject = msgspec.json.decode(_decode(text.partition(".")[2]))
                return claims
        except (ValueError, binascii.Error):
            pass  # nothing of ours: refused below
        raise TokenError("invalid bearer token")

    def _require(self, kind: kinds.Kind, namespace: str, reference: json.JsonObject) -> None:
        found = self._state.find(kind, namespace, reference["name"])
        if found is None or found["metadata"]["uid"] != reference["uid"]:
            raise TokenError(f"{kind.plural} {namespace}/{reference['name']} has been deleted")


def _encode(content: bytes) -> bytes:
    return base64.urlsafe_b64encode(content).rstrip(b"=")


def _decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _spec(body: object) -> json.JsonObject:
    spec = (body.get("spec") or {}) if isinstance(body, dict) else {}
    if not isinstance(spec, dict):
        raise api_errors.bad_request("TokenRequest: spec must be an object")
    return spec


def _check(seconds: object) -> None:
    if isinstance(seconds, bool) or not isinstance(seconds, int):
        raise api_errors.bad_request("TokenRequest: spec.expirationSeconds must be a number")
    detail = ""
    if seconds < _SHORTEST:
        detail = "may not specify a duration less than 10 minutes"
    elif seconds > _LONGEST:
        detail = "may not specify a duration larger than 2^32 seconds"
    if detail:
        cause = causes.invalid("spec.expirationSeconds", seconds, detail)
        message = causes.message("authentication.k8s.io", "TokenRequest", "", [cause])
        raise api_errors.invalid("authentication.k8s.io", "TokenRequest", "", message, [cause.json])
