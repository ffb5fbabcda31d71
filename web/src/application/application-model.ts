/** An application in one sentence, and what runs of it. Plain values in, plain values out. */

import type { Application, Drift, LiveTree } from '../api/types';
import { describeTree, healthRank } from './tree-model';

/** A commit and the clusters that run it. */
export interface RunningCommit {
  commit: string;
  clusters: readonly string[];
}

/** Statuses about which the application itself has to say something first. */
const SPEAKS = new Set([
  'failed',
  'rolled_back',
  'cancelled',
  'broken',
  'suspended',
  'removed',
  'orphaned',
  'unreadable',
  'waiting',
  'unknown',
]);

/** What is the matter, trouble first: the run's cause, the status' reason, drift, then health. */
export function describeApplication(
  application: Application,
  tree: LiveTree | undefined,
  drift: Drift | undefined,
): { status: string; sentence: string } {
  const { status, cause, reason } = application;
  if (cause) return { status, sentence: cause };
  if (SPEAKS.has(status) && reason) return { status, sentence: reason };
  const worst = [...(tree?.clusters ?? [])].sort(
    (one, other) => healthRank(one.health.status) - healthRank(other.health.status),
  )[0];
  if (tree && worst && worst.health.status === 'degraded')
    return { status: 'degraded', sentence: describeTree(tree) };
  if (drift?.status === 'outOfSync') return { status: 'outOfSync', sentence: drift.reason };
  if (tree?.clusters.length) {
    const isCalm = !worst || healthRank(worst.health.status) >= healthRank('suspended');
    return { status: isCalm ? status : worst.health.status, sentence: describeTree(tree) };
  }
  return { status, sentence: reason || 'Nothing of it has been rolled out yet' };
}

/** The commits that primary workloads run, the one in most clusters first. */
export function runningCommits(tree: LiveTree): RunningCommit[] {
  const commits = new Map<string, Set<string>>();
  for (const cluster of tree.clusters)
    for (const node of cluster.nodes) {
      if (!node.commit || node.total === 0 || !['', 'primary'].includes(node.variant)) continue;
      const clusters = commits.get(node.commit) ?? new Set();
      commits.set(node.commit, clusters.add(cluster.name));
    }
  return [...commits.entries()]
    .map(([commit, clusters]) => ({ commit, clusters: [...clusters] }))
    .sort((one, other) => other.clusters.length - one.clusters.length);
}
