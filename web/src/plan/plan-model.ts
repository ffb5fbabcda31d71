/**
 * A plan as the screen shows it: clusters that would do the same are one group, objects are sorted
 * by kind, and what differs between groups is found. Plain values in, plain values out.
 */

import type { ObjectDiff, Plan, PlannedCluster, PlannedObject } from '../api/types';
import { compareField, type FieldLines, type Side } from '../design/diff/field';
import { yamlLines } from '../design/diff/yaml';

/** Clusters that would do the same. */
export interface ClusterGroup {
  /** Name of its first cluster: an address that stays as long as the plan does. */
  id: string;
  clusters: readonly string[];
  /** What each of them would do. */
  planned: PlannedCluster;
}

/** An object that groups would treat differently. */
export interface Variation {
  object: string;
  /** What each group would do with it, by the group's id. */
  sides: ReadonlyMap<string, string>;
}

const RANK: Readonly<Record<string, number>> = {
  refused: 0,
  unreachable: 1,
  not_pruned: 2,
  changes: 3,
  unchanged: 4,
};

/** Group clusters that would do the same: trouble first, then the largest group. */
export function groupClusters(clusters: readonly PlannedCluster[]): ClusterGroup[] {
  const groups = new Map<string, { planned: PlannedCluster; clusters: string[] }>();
  for (const planned of clusters) {
    const key = JSON.stringify({ ...planned, name: '' });
    const group = groups.get(key);
    if (group) group.clusters.push(planned.name);
    else groups.set(key, { planned, clusters: [planned.name] });
  }
  const rank = (planned: PlannedCluster) => RANK[planned.status] ?? 0;
  return [...groups.values()]
    .map((group) => ({ id: group.planned.name, ...group }))
    .sort(
      (one, other) =>
        rank(one.planned) - rank(other.planned) || other.clusters.length - one.clusters.length,
    );
}

/** The plan in one sentence, as `volary plan` ends. */
export function concludePlan(plan: Plan): string {
  const total = plan.clusters.length;
  const words: readonly (readonly [string, string])[] = [
    ['changes', 'would change'],
    ['refused', 'would refuse'],
    ['unreachable', 'could not be asked'],
  ];
  const parts = words.flatMap(([status, verb]) => {
    const count = plan.clusters.filter((cluster) => cluster.status === status).length;
    return count ? [`${count} of ${total} clusters ${verb}`] : [];
  });
  const kept = plan.clusters.filter((cluster) => cluster.pruneRefusal).length;
  if (kept) parts.push(`${kept} of ${total} clusters would keep what Git no longer has`);
  return parts.join(', ') || 'no changes';
}

/** What a group would do, in few words. */
export function describeGroup(planned: PlannedCluster): string {
  if (planned.status === 'unreachable') return 'could not be asked';
  if (planned.status === 'refused') return 'would refuse';
  const counts: readonly (readonly [number, string])[] = [
    [planned.created, 'created'],
    [planned.changed, 'changed'],
    [planned.pruned, 'pruned'],
    [planned.kept, 'kept'],
  ];
  const parts = counts.flatMap(([count, word]) => (count ? [`${count} ${word}`] : []));
  return parts.join(', ') || 'no changes';
}

/** Kind of an object's key, which is `group:Kind:namespace:name`. */
export function kindOf(object: string): string {
  return object.split(':')[1] ?? object;
}

/** How people write an object's key: `Deployment shop/web`. */
export function nameOf(object: string): string {
  const [, kind, namespace, ...name] = object.split(':');
  if (kind === undefined || namespace === undefined) return object;
  return `${kind} ${namespace ? `${namespace}/` : ''}${name.join(':')}`;
}

/** Objects by kind: kinds in the order of the alphabet, objects as they come. */
export function byKind(
  objects: readonly PlannedObject[],
): (readonly [string, readonly PlannedObject[]])[] {
  const kinds = new Map<string, PlannedObject[]>();
  for (const object of objects) {
    const kind = kindOf(object.object);
    kinds.set(kind, [...(kinds.get(kind) ?? []), object]);
  }
  return [...kinds.entries()].sort(([one], [other]) => one.localeCompare(other));
}

/** A path of keys and indices as people write it; a key with dots is in brackets. */
export function writePath(path: unknown): string {
  if (!Array.isArray(path)) return String(path);
  return (path as readonly unknown[])
    .map((step) => (String(step).includes('.') ? `[${String(step)}]` : String(step)))
    .join('.');
}

/** The differences of one object field by field. */
export function fieldsOf(object: PlannedObject): FieldLines[] {
  return object.differences.map((difference) =>
    compareField(writePath(difference['path']), side(difference, 'old'), side(difference, 'new')),
  );
}

function side(difference: Readonly<Record<string, unknown>>, name: string): Side {
  return name in difference ? { value: difference[name] } : null;
}

/**
 * What groups would do differently with the same object; nothing where all do the same.
 *
 * Of clusters that could not be asked nothing is known, so they differ from nobody.
 */
export function variationsOf(all: readonly ClusterGroup[]): Variation[] {
  const groups = all.filter((group) => isKnown(group));
  const objects = new Set(groups.flatMap((group) => group.planned.objects.map((o) => o.object)));
  const found: Variation[] = [];
  for (const object of [...objects].sort()) {
    const said = groups.map((group) => {
      const planned = group.planned.objects.find((each) => each.object === object);
      return { id: group.id, planned, key: JSON.stringify(planned ?? null) };
    });
    if (new Set(said.map((each) => each.key)).size < 2) continue;
    const shared = sharedDifferences(said.flatMap((each) => (each.planned ? [each.planned] : [])));
    found.push({
      object,
      sides: new Map(said.map(({ id, planned }) => [id, summarize(planned, shared)])),
    });
  }
  return found;
}

/** Whole objects of a group of clusters as the server compared them, by their names. */
export function diffsOf(plan: Plan, group: ClusterGroup): ReadonlyMap<string, ObjectDiff> {
  const served = plan.groups.find((each) => each.clusters.includes(group.id));
  return new Map((served?.diffs ?? []).map((diff) => [diff.object, diff]));
}

/** Whether its clusters said what they would do. */
export function isKnown(group: ClusterGroup): boolean {
  return group.planned.status !== 'unreachable';
}

function sharedDifferences(objects: readonly PlannedObject[]): ReadonlySet<string> {
  const counts = new Map<string, number>();
  for (const difference of objects.flatMap((object) => object.differences)) {
    const key = JSON.stringify(difference);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return new Set([...counts].flatMap(([key, count]) => (count === objects.length ? [key] : [])));
}

function summarize(planned: PlannedObject | undefined, shared: ReadonlySet<string>): string {
  if (!planned) return 'nothing to do';
  const own = planned.differences.filter((each) => !shared.has(JSON.stringify(each)));
  const fields = own.slice(0, MOST_FIELDS).map((each) => {
    const value = 'new' in each ? yamlLines(each['new']).join(' ') : 'removed';
    return `${writePath(each['path'])}: ${shorten(value)}`;
  });
  if (own.length > MOST_FIELDS) fields.push(`and ${own.length - MOST_FIELDS} fields more`);
  return [planned.action, ...(planned.reason ? [planned.reason] : []), ...fields].join('; ');
}

const MOST_FIELDS = 4;
const LONGEST = 80;

function shorten(text: string): string {
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}
