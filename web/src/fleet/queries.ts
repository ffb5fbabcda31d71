/** Who works here, as the fleet's screen reads it; whoever may not see it is refused once only. */

import { queryOptions } from '@tanstack/react-query';

import { getAll, Problem } from '../api/client';
import type { Agent, Server, TaskQueue, Worker } from '../api/types';

const AGAIN_MS = 10_000;

/** Whether whoever looks may not see it. */
export function isRefusal(error: unknown): error is Problem {
  return error instanceof Problem && error.status === 403;
}

/** A list that is read again, until it is refused: the server counts each refusal. */
function following<Item>(path: string) {
  return queryOptions({
    queryKey: [path, 'all'] as const,
    queryFn: ({ signal }) => getAll<Item>(path, {}, signal),
    refetchInterval: ({ state }) => (isRefusal(state.error) ? false : AGAIN_MS),
    refetchOnWindowFocus: ({ state }) => !isRefusal(state.error),
    retryOnMount: false,
  });
}

export const serversQuery = following<Server>('/servers');
export const agentsQuery = following<Agent>('/agents');
export const workersQuery = following<Worker>('/workers');
/** Who takes the tasks of each cluster. */
export const queuesQuery = following<TaskQueue>('/task-queues');
