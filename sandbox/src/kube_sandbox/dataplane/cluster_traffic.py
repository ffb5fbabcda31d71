"""Real traffic in one cluster: its pods' servers and the built-in proxy before them."""

from kube_sandbox import errors
from kube_sandbox.apiserver.registry import registry
from kube_sandbox.apiserver.storage import storage
from kube_sandbox.controllers.framework import view
from kube_sandbox.controllers.kubelet import lifecycle
from kube_sandbox.dataplane.protocols import listeners
from kube_sandbox.dataplane.proxies import builtin
from kube_sandbox.dataplane.servers import loopback, pods


class ClusterTraffic:
    """The servers of a cluster; made by `start`."""

    def __init__(
        self,
        cluster: registry.Registry,
        servers: pods.Pods,
        front: builtin.Proxy,
        block: loopback.Block,
    ) -> None:
        self.pods = servers
        self._front = front
        self._block = block
        self._listener: listeners.Listener | None = None
        self._unsubscribe = cluster.subscribe(self._note)

    @property
    def address(self) -> str:
        """Where the cluster's proxies listen."""
        return self._block.gateway

    @property
    def gateway(self) -> str:
        """The built-in proxy: ``http://127.1.16.1:8080``; the host says which Service."""
        return f"http://{self.address}:{builtin.PORT}"

    async def open(self) -> None:
        """Let the proxy listen.

        Raises:
            UserError: It cannot.
        """
        try:
            self._listener = listeners.bind(self.address, builtin.PORT, self._front.handle)
        except OSError as problem:
            raise errors.UserError(
                f"the proxy cannot listen on {self.address}:{builtin.PORT}: {problem.strerror}"
            ) from problem
        await self._listener.start()

    async def close(self) -> None:
        """End all servers and give the addresses back."""
        self._unsubscribe()
        if self._listener is not None:
            self._listener.abort()
        await self._front.close()
        await self.pods.close()
        self._block.close()

    def _note(self, change: storage.Change) -> None:
        self.pods.note(change)
        self._front.note(change)


async def start(
    name: str,
    cluster: registry.Registry,
    seen: view.View,
    setting: lifecycle.Setting,
    block: loopback.Block,
    *,
    seed: int | None,
    lag: float = 0.0,
    speed: float = 1.0,
) -> ClusterTraffic:
    """Let the pods of a cluster be real from now on; `block` is where they get addresses.

    The proxy follows the cluster `lag` seconds late. Hooks of pods sleep `speed` times as fast.

    Raises:
        UserError: The proxy cannot listen.
    """
    servers = pods.Pods(name, seen, setting, block, seed=seed, speed=speed)
    front = builtin.Proxy(seen, seed=seed, lag=lag)
    made = ClusterTraffic(cluster, servers, front, block)
    try:
        await made.open()
    except errors.UserError:
        await made.close()
        raise
    return made
