/** Plans as the server sends them, for tests. */

import type { Plan, PlannedCluster, PlannedGroup, PlannedObject } from '../api/types';

export function plannedObject(fields: Partial<PlannedObject> = {}): PlannedObject {
  return {
    object: 'apps:Deployment:shop:web',
    action: 'changed',
    reason: '',
    differences: [],
    omitted: 0,
    ...fields,
  };
}

export function plannedCluster(fields: Partial<PlannedCluster> = {}): PlannedCluster {
  return {
    name: 'eu',
    status: 'changes',
    created: 0,
    changed: 0,
    pruned: 0,
    kept: 0,
    unchanged: 0,
    objects: [],
    problems: [],
    unreachableReason: '',
    warnings: [],
    pruneRefusal: '',
    ...fields,
  };
}

/** A group as the server makes it of clusters that would do the same as the one given. */
export function plannedGroup(first: PlannedCluster, fields: Partial<PlannedGroup> = {}): PlannedGroup {
  const { name, status, created, changed, pruned, kept } = first;
  const counts = { status, created, changed, pruned, kept };
  return { clusters: [name], ...counts, diffs: [], omitted: 0, problems: [], ...fields };
}

/** A plan; each cluster is a group of its own where no others are given. */
export function plan(fields: Partial<Plan> = {}): Plan {
  const known = {
    application: 'shop',
    commit: 'a91f3c0d5e6f7081920a1b2c3d4e5f6071829304',
    subject: 'Bigger cache',
    runningCommit: '7be2104c5d6e7f8091a2b3c4d5e6f70819203a4b',
    runningReason: 'us, eu run it',
    strategy: 'pipeline',
    reason: 'Sync progressively because of updating image shop from v1 to v2',
    images: ['shop:v2'],
    hasChanges: true,
    failed: false,
    stages: [],
    clusters: [],
    warnings: [],
    replicas: [],
    groups: (fields.clusters ?? []).map((cluster) => plannedGroup(cluster)),
    variations: [],
  };
  return { ...known, ...fields };
}
