/** Which version ran where and when, as the history tells. Plain values in, plain values out. */

import type { HistoryEntry } from '../api/types';

/** A time in which a cluster had one version. */
export interface Segment {
  commit: string;
  run: string;
  /** Milliseconds since 1970. */
  from: number;
  until: number;
  /** The run that brings it has not come to its end. */
  isUnderWay: boolean;
  /** The run did not bring its own commit: this is what the cluster had before. */
  isReturn: boolean;
}

export interface ClusterStrip {
  cluster: string;
  segments: readonly Segment[];
}

const time = (text: string) => Date.parse(text);

/**
 * Each cluster's versions over time, oldest first.
 *
 * A run says what its clusters run from its end on; while it goes on its commit is on its way. Of
 * those about which a run says nothing, what was known goes on.
 */
export function stripsOf(entries: readonly HistoryEntry[], now: number): ClusterStrip[] {
  const strips = new Map<string, Segment[]>();
  const inOrder = entries
    .filter((entry) => entry.kind === 'run')
    .sort((one, other) => momentOf(one) - momentOf(other));
  for (const run of inOrder) {
    const from = momentOf(run);
    const isUnderWay = !run.finished;
    const brought = isUnderWay ? [{ commit: run.commit, clusters: run.clusters }] : run.commitsAfter;
    for (const { commit, clusters } of brought) {
      for (const cluster of clusters) {
        const strip = strips.get(cluster) ?? [];
        const last = strip.at(-1);
        if (last) last.until = from;
        if (commit) strip.push({ run: run.run, commit, from, until: now, isUnderWay, isReturn: commit !== run.commit });
        strips.set(cluster, strip);
      }
    }
  }
  return [...strips.entries()]
    .sort(([one], [other]) => one.localeCompare(other))
    .map(([cluster, segments]) => ({ cluster, segments }));
}

function momentOf(entry: HistoryEntry): number {
  return time(entry.finished ?? entry.started ?? entry.at);
}
