/**
 * The fleet as the screen shows it: regions with their clusters, trouble first, and the waves of a
 * run drawn over it. Plain values in, plain values out.
 */

import type { Cluster, Resources, Run } from '../api/types';

/** How a cluster is, in one word that has a shape and a colour. */
export type ClusterMark = 'unreachable' | 'not_ready' | 'unknown' | 'cordoned' | 'suspended' | 'ready';

export interface Region {
  name: string;
  clusters: readonly Cluster[];
  troubled: number;
}

export interface FleetFilter {
  search?: string | undefined;
  region?: string | undefined;
  state?: string | undefined;
}

/** Keys of the taints that commands make. */
const CORDONED = 'volary.dev/cordoned';
const DRAINED = 'volary.dev/drained';

const RANK: Readonly<Record<ClusterMark, number>> = {
  unreachable: 0,
  not_ready: 1,
  unknown: 2,
  cordoned: 3,
  suspended: 4,
  ready: 5,
};

export function markOf(cluster: Cluster): ClusterMark {
  if (cluster.status === 'suspended') return 'suspended';
  if (cluster.status === 'unreachable') return 'unreachable';
  if (cluster.status === 'notReady') return 'not_ready';
  if (cluster.status !== 'ready') return 'unknown';
  return cluster.schedulable ? 'ready' : 'cordoned';
}

/** Word of a mark, as the command line has it. */
export function wordOf(cluster: Cluster): string {
  const words: Readonly<Record<ClusterMark, string>> = {
    unreachable: 'unreachable',
    not_ready: 'not ready',
    unknown: 'unknown',
    cordoned: closedWord(cluster),
    suspended: 'suspended',
    ready: 'ready',
  };
  return words[markOf(cluster)];
}

function closedWord(cluster: Cluster): string {
  const keys = cluster.taints.map((taint) => taint.key);
  if (keys.includes(DRAINED)) return 'drained';
  return keys.includes(CORDONED) ? 'cordoned' : 'tainted';
}

export function isTroubled(cluster: Cluster): boolean {
  return RANK[markOf(cluster)] < RANK.cordoned;
}

/** Regions with their clusters: the region in most trouble first, in each the worst cluster. */
export function regionsOf(clusters: readonly Cluster[]): Region[] {
  const regions = new Map<string, Cluster[]>();
  for (const cluster of clusters) {
    const name = cluster.region || '';
    regions.set(name, [...(regions.get(name) ?? []), cluster]);
  }
  return [...regions.entries()]
    .map(([name, members]) => ({
      name,
      clusters: [...members].sort(
        (one, other) =>
          RANK[markOf(one)] - RANK[markOf(other)] || one.name.localeCompare(other.name),
      ),
      troubled: members.filter(isTroubled).length,
    }))
    .sort(
      (one, other) =>
        Number(other.troubled > 0) - Number(one.troubled > 0) || one.name.localeCompare(other.name),
    );
}

export function filterClusters(clusters: readonly Cluster[], wanted: FleetFilter): Cluster[] {
  const search = (wanted.search ?? '').trim().toLowerCase();
  return clusters.filter(
    (cluster) =>
      (!wanted.region || cluster.region === wanted.region) &&
      (!wanted.state || markOf(cluster) === wanted.state) &&
      (!search || textOf(cluster).includes(search)),
  );
}

function textOf(cluster: Cluster): string {
  const labels = Object.entries(cluster.labels).map(([key, value]) => `${key}=${value}`);
  const taints = cluster.taints.map((taint) => `${taint.key}=${taint.value}`);
  return [cluster.name, cluster.region, cluster.provider, ...cluster.zones, ...labels, ...taints]
    .join(' ')
    .toLowerCase();
}

/** The fleet in one sentence: what is lost, since when, else that all is well. */
export function describeFleet(clusters: readonly Cluster[]): string {
  if (!clusters.length) return 'No cluster is registered yet';
  const total = clusters.length;
  const troubled = clusters
    .filter(isTroubled)
    .sort((one, other) => RANK[markOf(one)] - RANK[markOf(other)]);
  const worst = troubled[0];
  const closed = clusters.filter((cluster) => markOf(cluster) === 'cordoned').length;
  const shut = closed ? `; ${closed} ${closed === 1 ? 'takes' : 'take'} nothing new` : '';
  if (!worst)
    return `${clusters.filter((each) => each.status === 'ready').length} of ${total} clusters are ready${shut}`;
  const reason = worst.reason ? `: ${worst.reason}` : '';
  const one = `${worst.name} is ${wordOf(worst)}${reason}`;
  return `${troubled.length} of ${total} clusters ${troubled.length === 1 ? 'needs' : 'need'} a look; ${one}${shut}`;
}

/** A wave of a run and its clusters. */
export interface Wave {
  name: string;
  /** From 1, in the order in which they go. */
  number: number;
  /** `done`, `running`, or `pending`. */
  state: 'done' | 'running' | 'pending';
  clusters: readonly string[];
}

const ENDED = new Set(['succeeded', 'failed', 'cancelled', 'skipped', 'rolled_back', 'unreachable']);

/** The waves of a run in their order; empty: it has none. */
export function wavesOf(run: Run): Wave[] {
  const waves = new Map<string, { clusters: Set<string>; statuses: string[] }>();
  for (const stage of run.stages) {
    if (!stage.wave) continue;
    const wave = waves.get(stage.wave) ?? { clusters: new Set(), statuses: [] };
    for (const task of stage.tasks) wave.clusters.add(task.target);
    wave.statuses.push(stage.status);
    waves.set(stage.wave, wave);
  }
  return [...waves.entries()].map(([name, wave], index) => ({
    name,
    number: index + 1,
    state: stateOf(wave.statuses),
    clusters: [...wave.clusters],
  }));
}

function stateOf(statuses: readonly string[]): Wave['state'] {
  if (statuses.every((status) => ENDED.has(status))) return 'done';
  return statuses.some((status) => status !== 'pending') ? 'running' : 'pending';
}

/** A share of what there is that is in use. */
export interface Load {
  name: string;
  /** From 0 to 1. */
  used: number;
  /** In words: `12 of 16 cores`. */
  text: string;
}

/** How full a cluster is; empty: nobody knows. */
export function loadsOf(cluster: Cluster): Load[] {
  const { capacity, free } = cluster.facts ?? {};
  if (!capacity || !free) return [];
  const load = (
    name: string,
    of: keyof Resources,
    write: (amount: number) => string,
    unit = '',
  ): Load => {
    const used = Math.max(0, capacity[of] - free[of]);
    return {
      name,
      used: capacity[of] > 0 ? Math.min(1, used / capacity[of]) : 0,
      text: `${write(used)} of ${write(capacity[of])}${unit}`,
    };
  };
  return [
    load('CPU', 'cpu', (cores) => `${Math.round(cores * 10) / 10}`, ' cores'),
    load('Memory', 'memory', writeBytes),
    load('Pods', 'pods', String),
  ];
}

function writeBytes(bytes: number): string {
  const gibibytes = bytes / 2 ** 30;
  return gibibytes >= 1 ? `${Math.round(gibibytes)} GiB` : `${Math.round(bytes / 2 ** 20)} MiB`;
}
