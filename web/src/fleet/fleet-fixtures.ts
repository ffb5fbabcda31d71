/** Clusters, and who works here, as the server sends them, for tests. */

import type { Agent, Cluster, Server, TaskQueue, Worker } from '../api/types';

export function cluster(fields: Partial<Cluster> = {}): Cluster {
  return {
    name: 'eu-west',
    labels: { env: 'prod' },
    provider: 'aws',
    region: 'eu',
    zones: ['eu-1a'],
    suspended: false,
    agent: false,
    namespaces: [],
    status: 'ready',
    reason: '',
    since: '2026-03-01T10:00:00Z',
    changing: '',
    schedulable: true,
    taints: [],
    facts: {
      readAt: '2026-03-12T14:00:00Z',
      version: 'v1.36.0',
      nodes: 3,
      readyNodes: 3,
      capacity: { pods: 100, cpu: 16, memory: 64 * 2 ** 30 },
      free: { pods: 60, cpu: 4, memory: 16 * 2 ** 30 },
      problem: '',
    },
    factsMissing: '',
    applications: 4,
    ...fields,
  };
}

export const CORDON = {
  key: 'volary.dev/cordoned',
  value: '',
  effect: 'NoSchedule',
  since: '2026-03-12T13:00:00Z',
  by: 'ana',
  reason: 'upgrade to 1.37',
};

export function agent(fields: Partial<Agent> = {}): Agent {
  const name = fields.name ?? 'eu-west';
  return {
    name,
    clusters: [name],
    status: 'connected',
    reason: '',
    version: '0.1.0',
    protocol: 1,
    seen: '2026-03-12T14:00:00Z',
    created: '2026-03-01T10:00:00Z',
    rotated: '2026-03-01T10:00:00Z',
    rotating: false,
    policy: [],
    ...fields,
  };
}

export function server(fields: Partial<Server> = {}): Server {
  return {
    name: 'volary-0',
    address: 'https://10.0.0.7:8443',
    version: '0.1.0',
    revision: '0001',
    started: '2026-03-09T14:00:00Z',
    lastSeen: '2026-03-12T14:00:00Z',
    isLeader: false,
    ...fields,
  };
}

export function queue(fields: Partial<TaskQueue> = {}): TaskQueue {
  const cluster = fields.cluster ?? 'eu-west';
  return { cluster, queue: `volary-${cluster}`, apart: true, takers: [], reason: '', ...fields };
}

export function worker(fields: Partial<Worker> = {}): Worker {
  return {
    name: 'hands',
    clusters: ['eu-west'],
    status: 'taking',
    reason: '',
    processes: [{ name: 'worker hands 7@host', seen: '2026-03-12T14:00:00Z' }],
    created: '2026-03-01T10:00:00Z',
    rotated: '2026-03-01T10:00:00Z',
    rotating: false,
    ...fields,
  };
}
