import type { RollbackCluster } from '../api/types';

/** Clusters of which the same is said as one line, in the order of the first of each. */
export function sameClusters(
  clusters: readonly RollbackCluster[],
): readonly { names: readonly string[]; sentence: string }[] {
  const lines = new Map<string, string[]>();
  for (const { name, sentence } of clusters) lines.set(sentence, [...(lines.get(sentence) ?? []), name]);
  return [...lines].map(([sentence, names]) => ({ sentence, names }));
}
