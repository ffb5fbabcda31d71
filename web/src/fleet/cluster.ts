/** A cluster with what was read of it. */

import type { Cluster as Registered } from '../api/types';

/** An amount of what pods take: `cpu` in cores, `memory` in bytes. */
export interface Resources {
  pods: number;
  cpu: number;
  memory: number;
}

export interface Facts {
  readAt: string;
  version: string;
  nodes: number | null;
  readyNodes: number | null;
  capacity: Resources | null;
  free: Resources | null;
  problem: string;
}

export interface Cluster extends Registered {
  facts: Facts | null;
  /** How many applications are there, of those that may be seen. */
  applications: number | null;
}

/** An application on a cluster. */
export interface ClusterApplication {
  name: string;
  project: string;
  status: string;
  reason: string;
  commit: string;
  completed: string;
  missing: string;
  leaving: string;
  run: string;
}
