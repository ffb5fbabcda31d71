"""The client of one cluster: one method per verb, over one pooled session.

Built on `requests` (what is sent), `transport` (how), `discoverer` (where) and `watches`. What
changes something goes one way (`Client._change`), by the rule that the client was opened with.
Every method raises one of `api_errors`, or `UserError` when the user has to mend
credentials or settings.
"""

import random
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager

from volary.clusters.api import api_errors, discovery, requests
from volary.clusters.client import discoverer, informers, recent_objects, watches, write_rules
from volary.clusters.client.watches import ObjectList, WatchEvent, WatchKind
from volary.clusters.kubeconfig import connections
from volary.clusters.transport import circuit_breaker, transports, write_permits
from volary.manifests import objects
from volary.model import clocks, errors, json

__all__ = ["Client", "ObjectList", "WatchEvent", "WatchKind", "open_client"]

FIELD_MANAGER = "volary"
#: Seconds without a line after which a log is read anew, and bytes of one line.
_LOG_SILENCE, _LONGEST_LOG_LINE = 3600.0, 1 << 20


class Client:
    """An open connection to one cluster."""

    def __init__(
        self,
        sender: transports.Transport,
        *,
        chance: Callable[[], float],
        rule: write_rules.WriteRule = write_rules.permit_all,
        discovering: discoverer.Discoverer | None = None,
        acts_as: str = "",
    ) -> None:
        self._sender = sender
        self._chance = chance
        self._rule = rule
        #: As whom its requests are sent on somebody's behalf; empty: on nobody's.
        self.acts_as = acts_as
        self._discoverer = discovering or discoverer.Discoverer(sender)
        #: What a preview read, and what was written here, seconds ago.
        self.recent = recent_objects.RecentObjects()
        #: What watches tell that all who use this client share.
        self.informers = informers.Informers(lambda: sender.answered)

    def acting_as(
        self, who: connections.Impersonation | None, rule: write_rules.WriteRule
    ) -> "Client":
        """Return a client over the same connections that acts as somebody else, or by another rule.

        Every request of it says as `who` it is sent; None: as those of this one. What one of them
        has read the other does not know. It ends with this one, and is not closed by itself.
        """
        sender = self._sender if who is None else self._sender.acting_as(who)
        return Client(
            sender,
            chance=self._chance,
            rule=rule,
            discovering=self._discoverer,
            acts_as="" if who is None else who.user,
        )

    def writing_by(self, rule: write_rules.WriteRule) -> "Client":
        """Return a client that writes by another rule.

        The cluster knows both as the same, so what watches tell one of them the other knows as
        well. It ends with this one, and is not closed by itself.
        """
        client = Client(
            self._sender,
            chance=self._chance,
            rule=rule,
            discovering=self._discoverer,
            acts_as=self.acts_as,
        )
        client.informers = self.informers
        return client

    @property
    def name(self) -> str:
        """The cluster's name in the fleet."""
        return self._sender.connection.name

    @property
    def namespace(self) -> str:
        """Default namespace of the kubeconfig context."""
        return self._sender.connection.namespace

    @property
    def server(self) -> str:
        """URL of the API server."""
        return self._sender.connection.server

    @property
    def answered(self) -> float:
        """When the cluster last answered anybody here as it should, in the loop's time."""
        return self._sender.answered

    @property
    def trouble(self) -> str:
        """Why the cluster does not answer at present; empty: as far as is known it does."""
        return self._sender.trouble

    async def version(self) -> str:
        """Return the server's version, ``v1.36.0``: the cheapest proof that it answers."""
        body = await self._sender.send(
            requests.Request("GET", "/version", what="get version", idempotent=True)
        )
        return str(body.get("gitVersion") or "")

    async def check(self, path: str, *, timeout: float) -> None:
        """Ask a health endpoint such as ``/readyz`` once; returns when it answers with success.

        Raises:
            errors.VolaryError: It does not; one of `api_errors`.
        """
        asked = requests.Request("GET", path, accept="*/*", what=f"get {path}")
        await self._sender.check(asked, timeout=timeout)

    async def identity(self) -> str:
        """Return what distinguishes this cluster from one built in its place.

        That is the uid of the namespace that is made first and goes last (Kubernetes has no
        other id of a cluster).
        """
        path = "/api/v1/namespaces/kube-system"
        body = await self._sender.send(
            requests.Request("GET", path, what="get namespace kube-system", idempotent=True)
        )
        metadata = body.get("metadata")
        return str(metadata.get("uid") or "") if isinstance(metadata, dict) else ""

    async def discover(self, *, refresh: bool = False) -> discovery.Catalog:
        """Return the kinds served; asked once, and again with `refresh` (`discoverer`)."""
        return await self._discoverer.discover(refresh=refresh)

    async def get(
        self, resource: discovery.Resource, name: str, *, namespace: str = ""
    ) -> json.JsonObject | None:
        """Return an object; None when it certainly does not exist.

        Raises:
            api_errors.NotFound: The kind is no longer served, or something that is no
                Kubernetes API answered.
        """
        try:
            return await self._sender.send(requests.get(resource, name, namespace=namespace))
        except api_errors.NotFound as error:
            if error.is_certain:
                return None
            raise

    def may_have_kept(self, record: json.JsonObject, resource: discovery.Resource) -> bool:
        """Say whether a record of Volary's own may be of those for whom this client writes.

        See `write_rules.may_have_kept`.
        """
        return write_rules.may_have_kept(self._rule, record, resource)

    def may_have_written(self, body: json.JsonObject, resource: discovery.Resource) -> bool:
        """Say whether an object may be one that this client wrote, whatever its labels say."""
        return write_rules.may_have_written(self._rule, body, resource)

    async def _change(self, request: requests.Request, write: write_rules.Write) -> json.JsonObject:
        """Send what changes something, or tries to: nothing else here does.

        Raises:
            api_errors.Refused: The rule of this client does not permit it; nothing was sent.
        """
        for part in (write.namespace, write.name):
            if not requests.is_name(part):
                raise api_errors.Refused(f"{request.what}: {part!r} is not a name")
        if not request.is_dry_run:
            self.recent.forget(write.resource, write.name, write.namespace)
        try:
            return await self._sender.send(request, refusal=lambda: self._rule(write))
        except errors.TemporaryError:
            if not request.is_dry_run:
                # Nobody knows whether it was done.
                self.informers.wrote(write.resource, write.name, write.namespace, "")
            raise

    async def _write(
        self,
        resource: discovery.Resource,
        request: requests.Request,
        body: json.JsonObject,
        purpose: write_rules.Purpose = write_rules.Purpose.CONTENT,
    ) -> json.JsonObject:
        """Send what writes `body`, or tries to."""
        metadata = objects.mapping(body, "metadata")
        name, namespace = objects.text(metadata, "name"), objects.text(metadata, "namespace")
        place = namespace if resource.namespaced else ""
        answer = await self._change(request, write_rules.Write(resource, place, name, purpose))
        if not request.is_dry_run:
            self.recent.keep(resource, answer, written=True)
            version = objects.text(answer, "metadata", "resourceVersion")
            self.informers.wrote(resource, name, place, version)
        return answer

    async def list(
        self,
        resource: discovery.Resource,
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        page_size: int = 500,
        most: int = 0,
    ) -> ObjectList:
        """Return a complete collection.

        When a page expires in the middle it begins once more, without pages. Items carry
        their ``apiVersion`` and ``kind``, which API servers leave out of lists. A list
        that cannot be completed is an error, never a part.

        Raises:
            api_errors.TooLarge: There are more than `most` objects; 0: any number will do.
        """
        selection = requests.Selection(namespace, label_selector, field_selector)
        return await self._list(resource, selection, page_size, most)

    async def _list(
        self,
        resource: discovery.Resource,
        selection: requests.Selection,
        page_size: int = 500,
        most: int = 0,
    ) -> ObjectList:
        try:
            return await self._list_pages(resource, selection, page_size, most)
        except api_errors.Expired:
            if most:
                raise
            return await self._list_pages(resource, selection, 0, most)

    async def _list_pages(
        self, resource: discovery.Resource, selection: requests.Selection, page_size: int, most: int
    ) -> ObjectList:
        items: list[json.JsonObject] = []
        tokens: set[str] = set()
        token = ""
        while True:
            request = requests.list_page(resource, selection, page_size=page_size, token=token)
            page = requests.parse_page(
                await self._sender.send(request), resource, what=request.what
            )
            items += page.items
            if most and len(items) > most:
                raise api_errors.TooLarge(f"there are more than {most} {resource.plural}")
            token = page.token
            if not token:
                return ObjectList(tuple(items), page.resource_version)
            if token in tokens:
                raise api_errors.RequestError(f"{request.what}: the list has no end")
            tokens.add(token)

    def watch(
        self,
        resource: discovery.Resource,
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        resource_version: str = "",
        standing: watches.Standing | None = None,
    ) -> AsyncGenerator[WatchEvent, None]:
        """Follow a collection for ever; the first event is RELISTED with all of it.

        With `resource_version` it goes on from there instead. Close the iterator to end it. How the
        watch stands meanwhile is kept in `standing`.
        """
        selection = requests.Selection(namespace, label_selector, field_selector)
        return watches.follow(
            self._sender,
            resource,
            selection,
            lister=lambda: self._list(resource, selection),
            resource_version=resource_version,
            chance=self._chance,
            standing=standing,
        )

    async def follow_log(
        self, pod: str, *, namespace: str, wanted: requests.LogRange
    ) -> AsyncGenerator[bytes, None]:
        """Yield the lines of a container's log, each after its time, until the container ends.

        Raises:
            api_errors.NotFound: There is no such pod, or no such container before.
            api_errors.RequestError: The container has not started, or is none of the pod's.
            api_errors.TooLarge: A line is longer than any that is shown.
        """
        for part in (pod, namespace):
            if not part or not requests.is_name(part):
                raise api_errors.Refused(f"get pods/log: {part!r} is not a name")
        request = requests.pod_log(pod, namespace=namespace, wanted=wanted)
        async with (
            self._sender.stream(
                request, silence=_LOG_SILENCE, longest_line=_LONGEST_LOG_LINE
            ) as lines,
            aclosing(lines),
        ):
            async for line in lines:
                yield line

    async def apply(
        self,
        resource: discovery.Resource,
        body: json.JsonObject,
        *,
        field_manager: str = FIELD_MANAGER,
        force: bool = False,
        dry_run: bool = False,
        purpose: write_rules.Purpose = write_rules.Purpose.CONTENT,
    ) -> json.JsonObject:
        """Apply an object on the server side and return it as it is then.

        Raises:
            api_errors.ApplyConflict: Others own fields, and `force` is not set.
        """
        request = requests.write(
            "PATCH", resource, body, field_manager=field_manager, force=force, dry_run=dry_run
        )
        return await self._write(resource, request, body, purpose)

    async def create(
        self,
        resource: discovery.Resource,
        body: json.JsonObject,
        *,
        field_manager: str = FIELD_MANAGER,
        dry_run: bool = False,
    ) -> json.JsonObject:
        """Create an object."""
        request = requests.write(
            "POST", resource, body, field_manager=field_manager, dry_run=dry_run
        )
        return await self._write(resource, request, body)

    async def replace(
        self,
        resource: discovery.Resource,
        body: json.JsonObject,
        *,
        field_manager: str = FIELD_MANAGER,
        dry_run: bool = False,
    ) -> json.JsonObject:
        """Replace an object; a resourceVersion in the body must still be the live one."""
        request = requests.write(
            "PUT", resource, body, field_manager=field_manager, dry_run=dry_run
        )
        return await self._write(resource, request, body)

    async def merge_patch(
        self,
        resource: discovery.Resource,
        body: json.JsonObject,
        *,
        field_manager: str = FIELD_MANAGER,
        dry_run: bool = False,
    ) -> json.JsonObject:
        """Change an object in what `body` names, and return it as it is then.

        Raises:
            api_errors.Conflict: It has another ``resourceVersion`` than `body` says.
        """
        request = requests.merge_patch(resource, body, field_manager=field_manager, dry_run=dry_run)
        return await self._write(resource, request, body)

    async def review(self, kind: str, spec: json.JsonObject) -> json.JsonObject:
        """Return what the cluster says of this client's user: the status of a review."""
        request = requests.review(kind, spec)
        return objects.mapping(await self._sender.send(request), "status")

    async def delete(
        self,
        resource: discovery.Resource,
        name: str,
        *,
        namespace: str = "",
        uid: str = "",
        resource_version: str = "",
        propagation: str = "Background",
        purpose: write_rules.Purpose = write_rules.Purpose.CONTENT,
    ) -> None:
        """Delete an object; nothing happens when it certainly does not exist.

        Raises:
            api_errors.Conflict: It is not the one with `uid` and `resource_version`.
        """
        request = requests.delete(
            resource,
            name,
            namespace=namespace,
            uid=uid,
            resource_version=resource_version,
            propagation=propagation,
        )
        place = namespace if resource.namespaced else ""
        try:
            await self._change(request, write_rules.Write(resource, place, name, purpose))
            self.informers.wrote(resource, name, place, "")
        except api_errors.NotFound as error:
            if not error.is_certain:
                raise


@asynccontextmanager
async def open_client(
    connection: connections.Connection,
    *,
    clock: clocks.Clock,
    limits: transports.Limits | None = None,
    on_change: circuit_breaker.OnChange = lambda _trouble: None,
    permit: write_permits.Current = lambda: write_permits.UNCONDITIONAL,
    rule: write_rules.WriteRule = write_rules.permit_all,
) -> AsyncIterator[Client]:
    """Open a client; nothing is sent before it is used.

    Nothing is written without a permit, and nothing that the `rule` does not permit.
    """
    sender = transports.Transport(
        connection,
        limits=limits or transports.Limits(),
        clock=clock,
        chance=random.random,
        on_change=on_change,
        permit=permit,
    )
    try:
        yield Client(sender, chance=random.random, rule=rule)
    finally:
        await sender.close()
