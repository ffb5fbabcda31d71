import type { PlannedVariation } from '../api/types';
import { isKnown, nameOf, type ClusterGroup, type Variation } from './plan-model';

/** Objects that groups of clusters would treat differently, side by side. */
export function Variations({
  groups: all,
  variations,
  said,
}: {
  groups: readonly ClusterGroup[];
  variations: readonly Variation[];
  /** What the server says of them, one sentence each. */
  said: readonly PlannedVariation[];
}) {
  const groups = all.filter(isKnown);
  const sentences = new Map(said.map(({ object, sentence }) => [object, sentence]));
  return (
    // Wider than a narrow screen, so it scrolls by keyboard.
    // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <div className="plan-variations" tabIndex={0} role="region" aria-label="What differs between clusters">
      <table>
        <thead>
          <tr>
            <th scope="col">Object</th>
            {groups.map((group) => (
              <th key={group.id} scope="col" title={group.clusters.join(', ')}>
                {group.clusters.length === 1 ? group.id : `${group.id} and ${group.clusters.length - 1} more`}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {variations.map((variation) => (
            <tr key={variation.object}>
              <th scope="row">
                {nameOf(variation.object)}
                <span className="muted small plan-variation-said">{sentences.get(variation.object)}</span>
              </th>
              {groups.map((group) => (
                <td key={group.id}>{variation.sides.get(group.id)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
