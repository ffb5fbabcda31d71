"""The living part of an emulated cluster: controllers, scheduler and nodes.

Each controller is a pure function from what the cluster holds (`framework.view.View`) and the
time (`times.Instant`) to the writes it wants (`framework.actions.Result`). One shared loop
(`manager.loop.Loop`) feeds them from the registry's changes and carries the writes out; it
sleeps without using the processor while nothing happens.

Reconciling is level-based as in Kubernetes: nothing is derived from the event itself, every
result may be computed again, and a result writes an object at most once, because the write
itself brings the object back into the queue.

May import `apimachinery` and, in `manager`, the registry. Start reading at
`workloads.deployments.reconcile`, then `manager.loop`.
"""
