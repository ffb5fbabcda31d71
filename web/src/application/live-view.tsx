import type { UseQueryResult } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';

import type { LiveCluster, LiveTree } from '../api/types';
import { useChangeSearch } from '../app/search-params';
import { Note } from '../design/note';
import { Empty, Failed, Loading } from '../design/placeholders';
import { StateShape } from '../design/state-shape';
import { stateOf } from '../design/state';
import { Time } from '../design/time';
import { Button } from '../design/button';
import { ClusterTree } from './cluster-tree';
import { SummedObjects } from './summed-objects';
import { healthRank } from './tree-model';

const MOST_TROUBLED = 6;

/** What runs: summed over all clusters, or the tree of one. */
export function LiveView({ tree }: { tree: UseQueryResult<LiveTree> }) {
  const search = useSearch({ from: '/applications/$application' });
  const change = useChangeSearch();
  if (tree.isPending) return <Loading lines={6} label="Reading what runs" />;
  if (tree.isLoadingError) return <Failed error={tree.error} onRetry={() => void tree.refetch()} />;
  const { clusters } = tree.data;
  if (clusters.length === 0)
    return (
      <Empty title="Nothing of it is in any cluster">
        A first release puts it there: <code>volary sync {tree.data.application}</code>
      </Empty>
    );
  const chosen = clusters.find((cluster) => cluster.name === search.cluster);
  const choose = (cluster: string) => change({ cluster, object: '', view: '' });
  return (
    <div className="stack">
      <ClusterPicker clusters={clusters} chosen={chosen?.name ?? ''} onChoose={choose} />
      {chosen ? (
        <OneCluster cluster={chosen} />
      ) : (
        <>
          <Stale clusters={clusters} />
          <SummedObjects clusters={clusters} />
        </>
      )}
    </div>
  );
}

function ClusterPicker({
  clusters,
  chosen,
  onChoose,
}: {
  clusters: readonly LiveCluster[];
  chosen: string;
  onChoose: (cluster: string) => void;
}) {
  const troubled = clusters
    .filter((cluster) => cluster.health.status !== 'healthy')
    .sort((one, other) => healthRank(one.health.status) - healthRank(other.health.status));
  return (
    <div className="row wrap">
      <label className="row">
        <span>Cluster</span>
        <select value={chosen} onChange={(event) => onChoose(event.target.value)}>
          <option value="">{`all ${clusters.length}, summed`}</option>
          {clusters.map((cluster) => (
            <option key={cluster.name} value={cluster.name}>
              {`${cluster.name}: ${cluster.ready} of ${cluster.total} ready, ${stateOf(cluster.health.status).word}`}
            </option>
          ))}
        </select>
      </label>
      {troubled.slice(0, MOST_TROUBLED).map((cluster) => (
        <Button
          key={cluster.name}
          aria-pressed={cluster.name === chosen}
          onClick={() => onChoose(cluster.name === chosen ? '' : cluster.name)}
        >
          <StateShape status={cluster.health.status} label={stateOf(cluster.health.status).word} />
          {cluster.name}
          <span className="muted">{`${cluster.ready}/${cluster.total}`}</span>
        </Button>
      ))}
      {troubled.length > MOST_TROUBLED && (
        <span className="muted">{`and ${troubled.length - MOST_TROUBLED} more`}</span>
      )}
    </div>
  );
}

function OneCluster({ cluster }: { cluster: LiveCluster }) {
  return (
    <>
      {cluster.staleReason && <Note>{`What is shown may be old: ${cluster.staleReason}`}</Note>}
      {cluster.warnings.map((warning) => (
        <Note key={warning}>{warning}</Note>
      ))}
      <p className="muted small">
        Observed <Time at={cluster.observed} none="never" />
        {cluster.omitted > 0 && `; ${cluster.omitted} objects more are not shown`}
      </p>
      <ClusterTree cluster={cluster} />
    </>
  );
}

function Stale({ clusters }: { clusters: readonly LiveCluster[] }) {
  const stale = clusters.filter((cluster) => cluster.staleReason);
  const [first] = stale;
  if (!first) return null;
  const others = stale.length > 1 ? ` and ${stale.length - 1} more` : '';
  return <Note>{`${first.name}${others} may be shown as they were: ${first.staleReason}`}</Note>;
}
