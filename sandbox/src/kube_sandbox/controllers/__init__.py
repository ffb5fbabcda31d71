"""The living part of an emulated cluster: controllers, scheduler and nodes.

Each controller is a pure function from what the cluster holds (`view.View`) and
the time (`moment.Moment`) to what it wants written (`plan.Plan`). One shared
loop (`loop.Loop`) feeds them from the registry's changes and carries the plans
out; it sleeps without using the processor while nothing happens.

Reconciling is level-based as in Kubernetes: nothing is derived from the event
itself, every plan may be computed again, and a plan writes an object at most
once, because the write itself brings the object back into the queue.

Start reading at `deployments.reconcile`, then `loop`.
"""
