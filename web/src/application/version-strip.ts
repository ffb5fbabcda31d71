/** Which version ran where and when, as far as runs tell. Plain values in, plain values out. */

import type { Action, Application, Commit, RunSummary } from '../api/types';

/** A time in which a cluster had one version. */
export interface Segment {
  commit: string;
  run: string;
  /** Milliseconds since 1970. */
  from: number;
  until: number;
  /** The run that brought it has not come to its end. */
  isUnderWay: boolean;
  /** The run went back: this is what the clusters had before. */
  isReturn: boolean;
}

export interface ClusterStrip {
  cluster: string;
  segments: readonly Segment[];
}

/** A version that ran, and how it came about: what one may go back to. */
export interface Version {
  commit: string;
  subject: string;
  run: string;
  status: string;
  at: number;
  clusters: readonly string[];
}

const COMPLETED = new Set(['succeeded', 'succeeded_with_exceptions']);
const RETURNED = new Set(['rolled_back']);

const time = (text: string) => Date.parse(text);

/**
 * Each cluster's versions over time, oldest first.
 *
 * A run's version counts from its end, on the clusters it was for. A run that was rolled back
 * shows what they had before; one that failed or was cancelled says nothing about what runs, so
 * what was known goes on.
 */
export function stripsOf(runs: readonly RunSummary[], now: number): ClusterStrip[] {
  const strips = new Map<string, Segment[]>();
  const inOrder = [...runs].sort((a, b) => momentOf(a) - momentOf(b));
  for (const run of inOrder) {
    const segment = segmentOf(run);
    if (!segment) continue;
    for (const cluster of run.targets) {
      const strip = strips.get(cluster) ?? [];
      const last = strip.at(-1);
      if (last) last.until = segment.from;
      strip.push({ ...segment, until: now });
      strips.set(cluster, strip);
    }
  }
  return [...strips.entries()]
    .sort(([one], [other]) => one.localeCompare(other))
    .map(([cluster, segments]) => ({ cluster, segments }));
}

function momentOf(run: RunSummary): number {
  return time(run.finished ?? run.started ?? run.created);
}

function segmentOf(run: RunSummary): Segment | null {
  const base = { run: run.id, from: momentOf(run), until: momentOf(run) };
  if (!run.finished)
    return { ...base, commit: run.commit, isUnderWay: true, isReturn: false };
  if (COMPLETED.has(run.status))
    return { ...base, commit: run.commit, isUnderWay: false, isReturn: false };
  if (RETURNED.has(run.status) && run.runningCommit)
    return { ...base, commit: run.runningCommit, isUnderWay: false, isReturn: true };
  return null;
}

/** Versions that completed, the newest first, each once. */
export function versionsOf(runs: readonly RunSummary[]): Version[] {
  const found = new Map<string, Version>();
  const newestFirst = [...runs].sort((a, b) => momentOf(b) - momentOf(a));
  for (const run of newestFirst) {
    if (!COMPLETED.has(run.status) || found.has(run.commit)) continue;
    found.set(run.commit, {
      commit: run.commit,
      subject: run.subject,
      run: run.id,
      status: run.status,
      at: momentOf(run),
      clusters: run.targets,
    });
  }
  return [...found.values()];
}

/** A run, or a commit that was refused before there was one. */
export interface HistoryEntry {
  key: string;
  commit: string;
  subject: string;
  status: string;
  reason: string;
  by: string;
  at: string;
  run: RunSummary | null;
}

/** Runs and refused commits in one order, the newest first. `isComplete`: there are no older runs. */
export function mergeHistory(
  runs: readonly RunSummary[],
  commits: readonly Commit[],
  isComplete: boolean,
): HistoryEntry[] {
  const ran = runs.map((run) => ({
    key: run.id,
    commit: run.commit,
    subject: run.subject,
    status: run.status,
    reason: run.reason,
    by: run.by || run.trigger,
    at: run.finished ?? run.started ?? run.created,
    run,
  }));
  // A refused commit names the run that it would have had. One older than the runs that were read
  // may have had one.
  const ids = new Set(runs.map((run) => run.id));
  const since = Math.min(...runs.map((run) => time(run.created)));
  const mayHaveRun = (commit: Commit) => !isComplete && time(commit.seen) < since;
  const refused = commits
    .filter((commit) => commit.status === 'failed' && !ids.has(commit.run) && !mayHaveRun(commit))
    .map((commit) => ({
      key: `${commit.commit} ${commit.seen}`,
      commit: commit.commit,
      subject: commit.subject,
      status: commit.status,
      reason: commit.reason,
      by: commit.author,
      at: commit.seen,
      run: null,
    }));
  return [...ran, ...refused].sort((one, other) => time(other.at) - time(one.at));
}

/** What goes to the version of an entry; null: it is none to go to, or it runs already. */
export function rollbackTo(
  entry: HistoryEntry,
  application: Application,
  actions: readonly Action[],
): Action | null {
  const { run } = entry;
  if (!run || !COMPLETED.has(run.status) || run.commit === application.runningCommit) return null;
  const known = actions.find((action) => action.verb === 'rollback');
  if (!known) return null;
  const short = run.commit.slice(0, 7);
  const subject = run.subject ? ` “${run.subject}”` : '';
  const clusters = run.targets.join(', ');
  return {
    ...known,
    clusters: [],
    consequence: `starts a run that brings ${application.name} to ${short}${subject}, which ran on ${clusters}; Git stays as it is`,
    command: `volary rollback ${application.name} --to ${run.commit}`,
    body: { ...known.body, to: run.commit },
  };
}
