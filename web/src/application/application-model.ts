/** An application in one sentence, and what runs of it. Plain values in, plain values out. */

import type { Application, Drift, LiveTree } from '../api/types';
import { describeTree, healthRank } from './tree-model';

/** A commit and the clusters that run it. */
export interface RunningCommit {
  commit: string;
  /** Empty: what serves users; else the variant beside it that alone runs this commit. */
  variant: string;
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
  // It is the run that is told of then, and it looks as it does wherever else it is told of.
  if (cause) return { status: application.runStatus || status, sentence: cause };
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

/** The commits that primary workloads run, the one in most clusters first; then those of other variants. */
export function runningCommits(tree: LiveTree): RunningCommit[] {
  const primary = clustersByCommit(tree, '');
  const beside = ['canary', 'baseline'].flatMap((variant) =>
    clustersByCommit(tree, variant).filter(({ commit }) => primary.every((each) => each.commit !== commit)),
  );
  return [...primary, ...beside];
}

function clustersByCommit(tree: LiveTree, variant: string): RunningCommit[] {
  const commits = new Map<string, Set<string>>();
  for (const cluster of tree.clusters)
    for (const node of cluster.nodes) {
      const own = node.variant === 'primary' ? '' : node.variant;
      if (!node.commit || node.total === 0 || own !== variant) continue;
      const clusters = commits.get(node.commit) ?? new Set();
      commits.set(node.commit, clusters.add(cluster.name));
    }
  return [...commits.entries()]
    .map(([commit, clusters]) => ({ commit, variant, clusters: [...clusters] }))
    .sort((one, other) => other.clusters.length - one.clusters.length);
}
