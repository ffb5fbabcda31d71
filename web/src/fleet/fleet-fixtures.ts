/** Clusters as the server sends them, for tests. */

import type { Cluster } from '../api/types';

export function cluster(fields: Partial<Cluster> = {}): Cluster {
  return {
    name: 'eu-west',
    labels: { env: 'prod' },
    provider: 'aws',
    region: 'eu',
    zones: ['eu-1a'],
    suspended: false,
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
