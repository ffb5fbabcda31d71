/** Applications as the server sends them, for tests. */

import type {
  Action,
  Application,
  Drift,
  FieldDifference,
  HistoryEntry,
  LiveCluster,
  LiveNode,
  LiveObject,
  LiveTree,
  RunSummary,
} from '../api/types';

export const HEAD = 'a91f3c0d5e6f7081920a1b2c3d4e5f6071829304';
export const BEFORE = '7be2104c5d6e7f8091a2b3c4d5e6f70819203a4b';

export function application(fields: Partial<Application> = {}): Application {
  return {
    name: 'shop',
    repository: 'shops',
    path: 'apps/shop/app.yaml',
    branch: 'main',
    project: 'web',
    labels: { team: 'checkout' },
    status: 'synced',
    reason: '',
    runningCommit: HEAD,
    head: HEAD,
    decided: HEAD,
    run: 'run-2',
    waiting: null,
    paused: '',
    unowned: '',
    missing: {},
    warnings: [],
    updated: '2026-03-12T14:00:00Z',
    removed: null,
    version: 1,
    cause: '',
    runStatus: '',
    ...fields,
  };
}

export function node(fields: Partial<LiveNode> = {}): LiveNode {
  return {
    uid: 'web',
    parent: '',
    group: 'apps',
    version: 'v1',
    kind: 'Deployment',
    namespace: 'shop',
    name: 'web',
    health: { status: 'healthy', reason: '' },
    created: '2026-03-10T10:00:00Z',
    deleted: null,
    ready: 0,
    total: 0,
    restarts: 0,
    images: [],
    variant: '',
    commit: '',
    drift: '',
    node: '',
    events: [],
    ...fields,
  };
}

export function cluster(fields: Partial<LiveCluster> = {}): LiveCluster {
  return {
    name: 'eu',
    observed: '2026-03-12T14:00:00Z',
    staleReason: '',
    health: { status: 'healthy', reason: '' },
    ready: 0,
    total: 0,
    nodes: [],
    omitted: 0,
    warnings: [],
    ...fields,
  };
}

const crash = {
  type: 'Warning',
  reason: 'BackOff',
  message: 'Back-off restarting failed container web <b>now</b>',
  count: 12,
  lastSeen: '2026-03-12T13:59:30Z',
};

/** A Deployment with its pods; `broken`: one of them crashes. */
export function workload(commit: string, broken = false): LiveNode[] {
  const health = broken
    ? { status: 'degraded', reason: '1 of 3 pods ready: CrashLoopBackOff (exit 137, out of memory)' }
    : { status: 'healthy', reason: '' };
  const pods = ['a', 'b', 'c'].map((letter) => {
    const isBroken = broken && letter !== 'a';
    return node({
      uid: `pod-${letter}`,
      parent: 'set',
      group: '',
      kind: 'Pod',
      name: `web-7f9-${letter}`,
      ready: isBroken ? 0 : 1,
      total: 1,
      restarts: isBroken ? 6 : 0,
      node: `node-${letter}`,
      images: ['shop/web:v2'],
      health: isBroken ? { status: 'degraded', reason: 'CrashLoopBackOff' } : health,
      events: isBroken ? [crash] : [],
    });
  });
  const ready = broken ? 1 : 3;
  return [
    node({ commit, ready, total: 3, health, images: ['shop/web:v2'], drift: broken ? 'differs' : 'inSync' }),
    node({ uid: 'set', parent: 'web', kind: 'ReplicaSet', name: 'web-7f9', ready, total: 3, health }),
    ...pods,
    node({ uid: 'service', group: '', kind: 'Service', name: 'web', commit, drift: 'inSync' }),
  ];
}

export function tree(fields: Partial<LiveTree> = {}): LiveTree {
  return {
    application: 'shop',
    version: 7,
    clusters: [
      cluster({ name: 'asia', ready: 3, total: 3, nodes: workload(BEFORE) }),
      cluster({
        name: 'eu',
        ready: 1,
        total: 3,
        nodes: workload(HEAD, true),
        health: { status: 'degraded', reason: 'Deployment shop/web: 1 of 3 pods ready' },
      }),
      cluster({ name: 'us', ready: 3, total: 3, nodes: workload(HEAD) }),
    ],
    ...fields,
  };
}

export const replicas: FieldDifference = {
  path: 'spec.replicas',
  wanted: 3,
  live: 4,
  sides: 'both',
  owners: [{ manager: 'kubectl-scale', operation: 'Update', since: '2026-03-12T12:00:00Z' }],
};

export function drift(fields: Partial<Drift> = {}): Drift {
  return {
    application: 'shop',
    commit: HEAD,
    mode: 'report',
    status: 'outOfSync',
    reason: 'out of sync in eu: replicas 4, Git 3 (kubectl-scale)',
    since: '2026-03-12T12:00:00Z',
    repairAfter: null,
    clusters: [
      { name: 'us', status: 'inSync', reason: '', compared: '2026-03-12T14:00:00Z', objects: [] },
      {
        name: 'eu',
        status: 'outOfSync',
        reason: '1 object differs',
        compared: '2026-03-12T14:00:00Z',
        objects: [
          {
            group: 'apps',
            kind: 'Deployment',
            namespace: 'shop',
            name: 'web',
            drift: 'differs',
            since: '2026-03-12T12:00:00Z',
            reason: 'replicas 4, Git 3 (kubectl-scale)',
            differences: [replicas],
            omitted: 0,
          },
        ],
      },
    ],
    ...fields,
  };
}

export function liveObject(fields: Partial<LiveObject> = {}): LiveObject {
  const wanted = { apiVersion: 'apps/v1', kind: 'Deployment', spec: { replicas: 3 } };
  return {
    cluster: 'eu',
    node: node({ ready: 1, total: 3, health: { status: 'degraded', reason: '1 of 3 pods ready' } }),
    live: { ...wanted, spec: { replicas: 4, revisionHistoryLimit: 10 } },
    wanted,
    differences: [replicas],
    events: [crash],
    containers: ['web'],
    ...fields,
  };
}

export function historyEntry(fields: Partial<HistoryEntry> = {}): HistoryEntry {
  return {
    kind: 'run',
    at: '2026-03-12T13:50:00Z',
    run: 'run-2',
    commit: HEAD,
    subject: 'Bigger cache',
    status: 'succeeded',
    reason: '',
    trigger: 'commit',
    by: 'ana',
    strategy: 'pipeline',
    clusters: ['eu', 'us'],
    started: '2026-03-12T13:50:00Z',
    finished: '2026-03-12T13:58:00Z',
    commitsAfter: [{ commit: HEAD, clusters: ['eu', 'us'] }],
    rollback: null,
    ...fields,
  };
}

export function run(fields: Partial<RunSummary> = {}): RunSummary {
  return {
    id: 'run-2',
    application: 'shop',
    status: 'succeeded',
    reason: '',
    commit: HEAD,
    runningCommit: BEFORE,
    subject: 'Bigger cache',
    trigger: 'commit',
    by: 'ana',
    strategy: 'pipeline',
    targets: ['eu', 'us'],
    created: '2026-03-12T13:50:00Z',
    started: '2026-03-12T13:50:00Z',
    finished: '2026-03-12T13:58:00Z',
    version: 1,
    ...fields,
  };
}

export function action(fields: Partial<Action> = {}): Action {
  const known = {
    verb: 'rollback',
    title: 'Roll back',
    noun: 'application',
    stage: '',
    clusters: [],
    enabled: true,
    disabledReason: '',
    consequence: 'rolls back us and eu to 7be2104; asia was not touched',
    needsReason: false,
    reasonField: '',
    isDestructive: true,
    command: 'volary rollback shop',
    path: '/api/v1/applications/shop/rollback',
    body: {},
  };
  return { ...known, ...fields };
}
