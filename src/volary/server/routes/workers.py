"""Workers, for people: which there are, who may be one, and who takes the tasks of clusters."""

from starlette import requests, responses

from volary.controller.api import worker_service
from volary.server import server_state
from volary.server.authorization import access
from volary.server.http import encoding, paging
from volary.server.permissions import Permission
from volary.server.routes import bodies, commands, response_schemas

router = response_schemas.router("workers")
_PATH = "/workers/{worker}"


@router.get("/workers", responses=response_schemas.many(worker_service.Worker))
@access.needs(Permission.ADMINISTER)
async def list_workers(
    request: requests.Request, cursor: paging.Cursor = "", limit: paging.Limit = 50
) -> responses.Response:
    """List the workers by name: whether they take tasks, by which processes, or why not."""
    workers = await server_state.of(request).service.workers.list()
    page = paging.cut(workers, lambda worker: worker.name, cursor, limit)
    return encoding.many(request, page.items, page.cursor)


@router.get("/task-queues", responses=response_schemas.many(worker_service.TaskQueue))
@access.needs(Permission.VIEW)
async def list_task_queues(
    request: requests.Request, cursor: paging.Cursor = "", limit: paging.Limit = 50
) -> responses.Response:
    """List who takes the tasks of each cluster, or why nobody does."""
    queues = await server_state.of(request).service.workers.queues()
    page = paging.cut(queues, lambda queue: queue.cluster, cursor, limit)
    return encoding.many(request, page.items, page.cursor)


@router.post(f"{_PATH}/rotate", responses=response_schemas.one(worker_service.WorkerRegistration))
@access.needs(Permission.ADMINISTER, action="worker.rotate")
async def rotate_worker(
    request: requests.Request, worker: str, body: bodies.AgentKey
) -> responses.Response:
    """Make another token for a worker; that in use is good until it was seen."""
    made = await server_state.of(request).service.workers.rotate(
        worker, commands.asker(request), sealing_key=body.sealing_key
    )
    return encoding.secret(request, made)


@router.post(_PATH, responses=response_schemas.one(worker_service.WorkerRegistration))
@access.needs(Permission.ADMINISTER, action="worker.join")
async def join_worker(
    request: requests.Request, worker: str, body: bodies.WorkerKey
) -> responses.Response:
    """Register a worker for clusters; its token is in the answer, and nowhere else."""
    made = await server_state.of(request).service.workers.join(
        worker, body.clusters, commands.asker(request), sealing_key=body.sealing_key
    )
    return encoding.secret(request, made)


@router.post(f"{_PATH}/remove", responses=response_schemas.one(worker_service.Worker))
@access.needs(Permission.ADMINISTER, action="worker.remove")
async def remove_worker(request: requests.Request, worker: str) -> responses.Response:
    """Take the rights of a worker; shows how it was."""
    service = server_state.of(request).service.workers
    return encoding.one(request, await service.remove(worker, commands.asker(request)))
