/** What needs a person: how it looks, and where it leads. */

import type { Attention } from '../api/types';

/** The state that an item's shape and word are of. */
const STATUS: Record<string, string> = {
  approval: 'waiting',
  held: 'held',
  failed: 'failed',
  rolledBack: 'rolled_back',
  outOfSync: 'outOfSync',
  broken: 'broken',
  paused: 'paused',
  refusedCommit: 'broken',
  clusterUnreachable: 'unreachable',
  clusterNotReady: 'not_ready',
};

const WORD: Record<string, string> = {
  approval: 'awaiting approval',
  refusedCommit: 'commit refused',
  clusterUnreachable: 'cluster unreachable',
  clusterNotReady: 'cluster not ready',
};

export function statusOf(item: Attention): string {
  return STATUS[item.kind] ?? 'unknown';
}

export function wordOf(item: Attention): string | undefined {
  return WORD[item.kind];
}

export type Destination =
  | { to: 'run'; run: string; stage: string; title: string }
  | { to: 'application'; application: string; tab: string; title: string }
  | { to: 'cluster'; cluster: string; title: string };

/** Where a person goes to deal with it. */
export function destinationOf(item: Attention): Destination {
  if (item.application === '') {
    return { to: 'cluster', cluster: item.clusters[0] ?? '', title: 'Open' };
  }
  if (item.kind === 'outOfSync') {
    return { to: 'application', application: item.application, tab: 'drift', title: 'Diff' };
  }
  if (item.run !== '') {
    const title = item.kind === 'approval' ? 'Review' : 'Open';
    return { to: 'run', run: item.run, stage: item.stage, title };
  }
  return { to: 'application', application: item.application, tab: '', title: 'Open' };
}

/** What an item is, the same over time, so that it keeps its line. */
export function keyOf(item: Attention): string {
  return [item.kind, item.application, item.run, item.stage, item.wave, ...item.clusters].join('\n');
}
