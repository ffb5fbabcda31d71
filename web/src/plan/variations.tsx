import type { PlannedVariation } from '../api/types';
import { nameOf, valueAt, type ClusterGroup } from './plan-model';

/** Objects that would not become the same on all clusters, groups of clusters side by side. */
export function Variations({
  groups,
  variations,
}: {
  groups: readonly ClusterGroup[];
  variations: readonly PlannedVariation[];
}) {
  const titles = new Map(groups.map((group) => [group.id, group.clusters]));
  return (
    <div className="stack">
      {variations.map((variation) => (
        <VariationPanel key={variation.object} variation={variation} titles={titles} />
      ))}
    </div>
  );
}

function VariationPanel({
  variation,
  titles,
}: {
  variation: PlannedVariation;
  titles: ReadonlyMap<string, readonly string[]>;
}) {
  const name = nameOf(variation.object);
  const more = [
    ...(variation.omittedPlaces ? [`${variation.omittedPlaces} more places`] : []),
    ...(variation.omittedSides ? [`${variation.omittedSides} more groups of clusters`] : []),
  ];
  return (
    <section className="panel plan-variation stack" aria-label={name}>
      <h3>{name}</h3>
      {/* Wider than a narrow screen, so it scrolls by keyboard. */}
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <div className="plan-variations" tabIndex={0} role="region" aria-label={`${name}: clusters side by side`}>
        <table>
          <thead>
            <tr>
              <th scope="col">
                <span className="spoken">Place</span>
              </th>
              {variation.sides.map((side) => (
                <th key={side.cluster} scope="col" title={titles.get(side.cluster)?.join(', ')}>
                  {columnOf(side.cluster, titles.get(side.cluster)?.length ?? 1)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            <tr>
              <th scope="row">the object</th>
              {variation.sides.map((side) => (
                <td key={side.cluster}>{side.action}</td>
              ))}
            </tr>
            {variation.places.map((place, index) => (
              <tr key={place}>
                <th scope="row" className="mono">
                  {place}
                </th>
                {variation.sides.map((side) => (
                  <td key={side.cluster} className="mono">
                    {valueAt(side, index)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {more.length > 0 && <p className="muted small">{`Not shown: ${more.join(', ')}`}</p>}
    </section>
  );
}

function columnOf(first: string, clusters: number): string {
  return clusters > 1 ? `${first} and ${clusters - 1} more` : first;
}
