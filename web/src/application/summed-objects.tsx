import { useChangeSearch } from '../app/search-params';
import type { LiveCluster } from '../api/types';
import { StateWord } from '../design/state-shape';
import { stateOf } from '../design/state';
import { useHeldOrder } from '../design/held-order';
import '../design/listing.css';
import { nameOf, sumObjects, type SummedObject } from './tree-model';
import { writeObject } from './object-address';

const MOST_CLUSTERS = 4;

/** The applied objects over all clusters, trouble first. */
export function SummedObjects({ clusters }: { clusters: readonly LiveCluster[] }) {
  const { items, hold } = useHeldOrder(sumObjects(clusters), (object) => object.key);
  return (
    // Wider than a narrow screen, so it scrolls by keyboard.
    // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <div className="summed" tabIndex={0} role="region" aria-label="Objects over all clusters" {...hold}>
      <table className="listing listing-blocks">
        <thead>
          <tr>
            <th scope="col">Object</th>
            <th scope="col">Health</th>
            <th scope="col">Pods ready</th>
            <th scope="col">Restarts</th>
            <th scope="col">Needs a look</th>
          </tr>
        </thead>
        <tbody>
          {items.map((object) => (
            <SummedRow key={object.key} object={object} clusters={clusters} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function SummedRow({ object, clusters }: { object: SummedObject; clusters: readonly LiveCluster[] }) {
  const change = useChangeSearch();
  const open = (cluster: string) => change({ cluster, object: addressOf(object), view: '' });
  const lacking = clusters.length - object.clusters.length;
  return (
    <tr>
      <th scope="row">
        <span className="muted">{object.kind}</span> {nameOf(object)}
        {object.images.length > 0 && <div className="muted small mono">{object.images.join(', ')}</div>}
      </th>
      <td>
        {object.health.map(([status, number]) => (
          <div key={status}>
            <StateWord status={status} word={`${number} ${stateOf(status).word}`} />
          </div>
        ))}
        {lacking > 0 && <div className="muted small">{`not in ${lacking} of ${clusters.length}`}</div>}
      </td>
      <td>{object.total > 0 ? <Ready ready={object.ready} total={object.total} /> : ''}</td>
      <td>{object.restarts > 0 ? object.restarts : ''}</td>
      <td>
        {object.troubled.slice(0, MOST_CLUSTERS).map((place) => (
          <div key={place.cluster} className="breakable">
            <button type="button" className="link" onClick={() => open(place.cluster)}>
              {place.cluster}
            </button>
            {place.reason && `: ${place.reason}`}
          </div>
        ))}
        {object.troubled.length > MOST_CLUSTERS && (
          <div className="muted">{`and ${object.troubled.length - MOST_CLUSTERS} more`}</div>
        )}
        {object.drifted.length > 0 && (
          <div className="row wrap">
            <StateWord status="differs" word="differs from Git in" />
            {object.drifted.slice(0, MOST_CLUSTERS).map((cluster) => (
              <button key={cluster} type="button" className="link" onClick={() => open(cluster)}>
                {cluster}
              </button>
            ))}
            {object.drifted.length > MOST_CLUSTERS && ` and ${object.drifted.length - MOST_CLUSTERS} more`}
          </div>
        )}
      </td>
    </tr>
  );
}

function addressOf(object: SummedObject): string {
  return writeObject({ ...object, group: object.key.split('/')[0] ?? '' });
}

/** How many of how many, as a bar and in numbers. */
export function Ready({ ready, total }: { ready: number; total: number }) {
  return (
    <span className="ready">
      <svg viewBox="0 0 60 8" width="60" height="8" aria-hidden="true">
        <rect width="60" height="8" rx="2" className="ready-all" />
        <rect width={(60 * ready) / Math.max(1, total)} height="8" rx="2" className="ready-some" />
      </svg>
      {`${ready} of ${total}`}
    </span>
  );
}
