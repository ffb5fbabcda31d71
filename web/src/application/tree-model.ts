/**
 * The live tree of an application: changes applied to it, nodes in their places, sums over
 * clusters. Plain values in, plain values out.
 */

import type { LiveChange, LiveCluster, LiveNode, LiveTree } from '../api/types';

/** A node with those that belong to it. */
export interface Branch {
  /** The same from one moment to the next, so that nothing jumps. */
  key: string;
  node: LiveNode;
  children: readonly Branch[];
}

/** An object over the clusters that have it. */
export interface SummedObject {
  key: string;
  kind: string;
  namespace: string;
  name: string;
  ready: number;
  total: number;
  restarts: number;
  /** How many clusters by health, the worst first. */
  health: readonly (readonly [string, number])[];
  /** Clusters in which it is not healthy, the worst first, each with the reason. */
  troubled: readonly { cluster: string; status: string; reason: string }[];
  clusters: readonly string[];
  images: readonly string[];
  drifted: readonly string[];
}

const RANK: Readonly<Record<string, number>> = {
  degraded: 0,
  missing: 1,
  unknown: 2,
  progressing: 3,
  suspended: 4,
  healthy: 5,
};

export function healthRank(status: string): number {
  return RANK[status] ?? 2;
}

/** Put a change in its place; a change that does not go on from the tree leaves it as it is. */
export function applyChange(tree: LiveTree, change: LiveChange): LiveTree {
  if (change.version <= tree.version) return tree;
  const known = tree.clusters.find((cluster) => cluster.name === change.cluster.name);
  const nodes = merge(known?.nodes ?? [], change);
  const cluster: LiveCluster = { ...change.cluster, nodes };
  const clusters = known
    ? tree.clusters.map((each) => (each.name === cluster.name ? cluster : each))
    : [...tree.clusters, cluster];
  return { ...tree, version: change.version, clusters };
}

function merge(nodes: readonly LiveNode[], change: LiveChange): LiveNode[] {
  const removed = new Set(change.removed);
  const changed = new Map(change.cluster.nodes.map((node) => [node.uid, node]));
  const kept = nodes.flatMap((node) => {
    const next = changed.get(node.uid);
    changed.delete(node.uid);
    return removed.has(node.uid) && !next ? [] : [next ?? node];
  });
  return [...kept, ...changed.values()];
}

/** Nodes below those that own them; one whose owner is not there stands on top. */
export function branchesOf(nodes: readonly LiveNode[]): Branch[] {
  const known = new Set(nodes.map((node) => node.uid));
  const children = new Map<string, LiveNode[]>();
  for (const node of nodes) {
    const parent = known.has(node.parent) && node.parent !== node.uid ? node.parent : '';
    children.set(parent, [...(children.get(parent) ?? []), node]);
  }
  // What a garbled answer lists as its own ancestor must not be walked for ever.
  const walked = new Set<string>();
  const grow = (parent: string): Branch[] =>
    (children.get(parent) ?? []).flatMap((node) => {
      if (walked.has(node.uid)) return [];
      walked.add(node.uid);
      return [{ key: node.uid, node, children: grow(node.uid) }];
    });
  return grow('').sort(
    (one, other) =>
      healthRank(one.node.health.status) - healthRank(other.node.health.status) ||
      Number(other.node.total > 0) - Number(one.node.total > 0) ||
      nameOf(one.node).localeCompare(nameOf(other.node)),
  );
}

/** Name of an object in its kind, `shop/web`. */
export function nameOf(node: { namespace: string; name: string }): string {
  return node.namespace ? `${node.namespace}/${node.name}` : node.name;
}

/** The applied objects over all clusters, trouble first. */
export function sumObjects(clusters: readonly LiveCluster[]): SummedObject[] {
  const found = new Map<string, { cluster: string; node: LiveNode }[]>();
  for (const cluster of clusters)
    for (const node of cluster.nodes) {
      if (node.parent) continue;
      const key = [node.group, node.kind, node.namespace, node.name].join('/');
      found.set(key, [...(found.get(key) ?? []), { cluster: cluster.name, node }]);
    }
  return [...found.entries()]
    .map(([key, places]) => sum(key, places))
    .sort(
      (one, other) =>
        healthRank(one.health[0]?.[0] ?? 'healthy') -
          healthRank(other.health[0]?.[0] ?? 'healthy') ||
        other.drifted.length - one.drifted.length ||
        Number(other.total > 0) - Number(one.total > 0) ||
        one.key.localeCompare(other.key),
    );
}

function sum(key: string, places: readonly { cluster: string; node: LiveNode }[]): SummedObject {
  const nodes = places.map((place) => place.node);
  const counts = new Map<string, number>();
  for (const node of nodes)
    counts.set(node.health.status, (counts.get(node.health.status) ?? 0) + 1);
  const add = (pick: (node: LiveNode) => number) =>
    nodes.reduce((total, node) => total + pick(node), 0);
  const first = nodes[0];
  return {
    key,
    kind: first?.kind ?? '',
    namespace: first?.namespace ?? '',
    name: first?.name ?? '',
    ready: add((node) => node.ready),
    total: add((node) => node.total),
    restarts: add((node) => node.restarts),
    health: [...counts.entries()].sort(([one], [other]) => healthRank(one) - healthRank(other)),
    troubled: places
      .filter(({ node }) => node.health.status !== 'healthy')
      .sort((a, b) => healthRank(a.node.health.status) - healthRank(b.node.health.status))
      .map(({ cluster, node }) => ({
        cluster,
        status: node.health.status,
        reason: node.health.reason,
      })),
    clusters: places.map((place) => place.cluster),
    images: [...new Set(nodes.flatMap((node) => node.images))],
    drifted: places
      .filter(({ node }) => node.drift !== '' && node.drift !== 'inSync' && node.drift !== 'unknown')
      .map((place) => place.cluster),
  };
}

/** What runs, in one sentence: trouble first. */
export function describeTree(tree: LiveTree): string {
  const add = (pick: (cluster: LiveCluster) => number) =>
    tree.clusters.reduce((total, cluster) => total + pick(cluster), 0);
  const total = add((cluster) => cluster.total);
  if (!tree.clusters.length) return 'It runs nowhere yet';
  const pods = `${add((cluster) => cluster.ready)} of ${total} pods ready`;
  const troubled = [...tree.clusters]
    .filter((cluster) => !['healthy', 'suspended'].includes(cluster.health.status))
    .sort((a, b) => healthRank(a.health.status) - healthRank(b.health.status));
  const where = `on ${count(tree.clusters.length, 'cluster')}`;
  const worst = troubled[0];
  if (!worst) return `${pods} ${where}`;
  const reason = worst.health.reason ? `: ${worst.health.reason}` : '';
  const others = troubled.length > 1 ? `; ${count(troubled.length - 1, 'cluster')} more in trouble` : '';
  return `${worst.name} is ${worst.health.status}${reason}${others}; ${pods} ${where}`;
}

export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

/** A node in its place on the screen. */
export interface TreeRow {
  node: LiveNode;
  /** From 1. */
  level: number;
  /** Whether its children are shown; undefined: it has none. */
  isOpen: boolean | undefined;
}

/** The rows of a tree: healthy branches are closed until somebody opens them. */
export function visibleRows(
  branches: readonly Branch[],
  toggled: ReadonlyMap<string, boolean>,
  level = 1,
): TreeRow[] {
  return branches.flatMap((branch) => {
    const { node, children } = branch;
    if (children.length === 0) return [{ node, level, isOpen: undefined }];
    const isOpen = toggled.get(node.uid) ?? isTroubled(branch);
    const below = isOpen ? visibleRows(children, toggled, level + 1) : [];
    return [{ node, level, isOpen }, ...below];
  });
}

function isTroubled({ node, children }: Branch): boolean {
  return !['healthy', 'suspended'].includes(node.health.status) || children.some(isTroubled);
}
