/**
 * A plan as the screen shows it: groups of clusters with trouble first, objects by kind. Plain
 * values in, plain values out.
 */

import type { ObjectDiff, Plan, PlannedCluster, PlannedObject, VariationSide } from '../api/types';
import { compareField, type FieldLines, type Side } from '../design/diff/field';

/** Clusters that would do the same. */
export interface ClusterGroup {
  /** Name of its first cluster: an address that stays as long as the plan does. */
  id: string;
  clusters: readonly string[];
  /** What the first of them would do, as each of them. */
  planned: PlannedCluster;
  /** Why its clusters could not be asked, each reason once. */
  unreachable: readonly string[];
  /** Whole objects as the server compared them, by their names. */
  diffs: ReadonlyMap<string, ObjectDiff>;
}

const RANK: Readonly<Record<string, number>> = {
  refused: 0,
  unreachable: 1,
  not_pruned: 2,
  changes: 3,
  unchanged: 4,
};

/** The plan's groups of clusters: trouble first, then the largest group. */
export function groupsOf(plan: Plan): ClusterGroup[] {
  const byName = new Map(plan.clusters.map((cluster) => [cluster.name, cluster]));
  const rank = (planned: PlannedCluster) => RANK[planned.status] ?? 0;
  return plan.groups
    .flatMap(({ clusters, diffs }) => {
      const members = clusters.flatMap((name) => byName.get(name) ?? []);
      const [planned] = members;
      if (!planned) return [];
      const reasons = new Set(members.map((member) => member.unreachableReason));
      return [
        {
          id: planned.name,
          clusters,
          planned,
          unreachable: [...reasons].filter(Boolean),
          diffs: new Map(diffs.map((diff) => [diff.object, diff])),
        },
      ];
    })
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

/** What clusters would do with an object, and what it becomes at one place; nothing: a dash. */
export function valueAt(side: VariationSide, place: number): string {
  return side.values[place] || '–';
}
