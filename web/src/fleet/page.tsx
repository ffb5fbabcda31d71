import { useQuery } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';

import { getAll, type Page, segment } from '../api/client';
import { reading } from '../api/queries';
import type { Agent, Cluster, Run, RunSummary } from '../api/types';
import { useChangeSearch } from '../app/search-params';
import { asServerTime } from '../design/now';
import { Empty, Failed, Loading } from '../design/placeholders';
import { Sentence } from '../design/sentence';
import { useHeldOrder } from '../design/held-order';
import { Tabs } from '../design/tabs';
import { Time } from '../design/time';
import { ClusterDrawer } from './cluster-drawer';
import {
  describeFleet,
  filterClusters,
  isTroubled,
  markOf,
  regionsOf,
  wavesOf,
  type Region,
  type Wave,
} from './fleet-model';
import { agentsQuery } from './queries';
import { Tile } from './tile';
import { WAVE_WORDS, WaveBadge } from './wave-badge';
import { agentOf } from './workers-model';
import { WorkersSentence, WorkersView } from './workers-view';
import '../design/layout.css';
import './fleet.css';

const AGAIN_MS = 5_000;
const MOST_TILES = 600;

/** The clusters by region, trouble first, with a run's waves drawn over them. */
export function FleetPage() {
  const search = useSearch({ from: '/fleet' });
  const change = useChangeSearch();
  const fleet = useQuery({
    queryKey: ['/clusters', 'all'],
    queryFn: ({ signal }) => getAll<Cluster>('/clusters', {}, signal),
    refetchInterval: AGAIN_MS,
  });
  if (!fleet.data)
    return (
      <div className="page">
        <h1>Fleet</h1>
        {fleet.isLoadingError ? (
          <Failed error={fleet.error} onRetry={() => void fleet.refetch()} />
        ) : (
          <Loading lines={8} label="Reading the fleet" />
        )}
      </div>
    );
  const clusters = fleet.data;
  const opened = clusters.find((cluster) => cluster.name === search.cluster);
  const worst = clusters.find(isTroubled);
  const open = (cluster: string) => change({ cluster });
  return (
    <div className="with-drawer">
      <div className="page">
        <h1>Fleet</h1>
        {search.tab === 'workers' ? (
          <WorkersSentence clusters={clusters} />
        ) : (
          <Sentence status={clusters.length === 0 ? 'pending' : worst ? markOf(worst) : 'ready'}>
            {describeFleet(clusters)}
          </Sentence>
        )}
        <Tabs
          label="About the fleet"
          chosen={search.tab ?? 'clusters'}
          onChoose={(tab) => change({ tab: tab === 'clusters' ? '' : tab })}
          items={[
            {
              name: 'clusters',
              title: 'Clusters',
              content: <ClustersView clusters={clusters} at={fleet.dataUpdatedAt} onOpen={open} />,
            },
            {
              name: 'workers',
              title: 'Servers, agents, workers',
              content: <WorkersView clusters={clusters} onOpen={open} />,
            },
          ]}
        />
      </div>
      {opened && <ClusterDrawer key={opened.name} cluster={opened} at={fleet.dataUpdatedAt} />}
    </div>
  );
}

/** The clusters by region, those that the address asks for. */
function ClustersView({
  clusters,
  at,
  onOpen,
}: {
  clusters: readonly Cluster[];
  at: number;
  onOpen: (cluster: string) => void;
}) {
  const search = useSearch({ from: '/fleet' });
  const run = useQuery({
    ...reading<Run>(`/runs/${segment(search.wave ?? '')}`),
    enabled: Boolean(search.wave),
    refetchInterval: AGAIN_MS,
  });
  const agents = useQuery({ ...agentsQuery, enabled: clusters.some((cluster) => cluster.agent) });
  const shown = filterClusters(clusters, search);
  const waves = search.wave && run.data ? wavesOf(run.data) : [];
  // Of some clusters their own drawer says it; of all of them nothing is wrong but this server.
  const missing = clusters.every((cluster) => cluster.factsMissing) ? clusters[0]?.factsMissing : '';
  return (
    <div className="stack">
      <Filters clusters={clusters} shown={shown.length} at={at} />
      {missing && <p className="muted">{missing}</p>}
      {waves.length > 0 && <WaveLegend waves={waves} />}
      {search.wave && run.data && waves.length === 0 && (
        <p className="muted">{`${run.data.summary.application}’s run has no waves.`}</p>
      )}
      {clusters.length === 0 && (
        <Empty title="No cluster is registered yet">
          A fleet file names them: <code>volary server --fleet fleet.yaml</code>
        </Empty>
      )}
      {clusters.length > 0 && shown.length === 0 && (
        <Empty title="No cluster is like that">Take a filter away to see the others.</Empty>
      )}
      <Regions
        regions={regionsOf(shown.slice(0, MOST_TILES))}
        waves={waves}
        agents={agents.data}
        chosen={search.cluster ?? ''}
        onOpen={onOpen}
      />
      {shown.length > MOST_TILES && (
        <p className="muted">{`${shown.length - MOST_TILES} clusters more: narrow them by region or search`}</p>
      )}
    </div>
  );
}

function Filters({
  clusters,
  shown,
  at,
}: {
  clusters: readonly Cluster[];
  shown: number;
  at: number;
}) {
  const search = useSearch({ from: '/fleet' });
  const change = useChangeSearch();
  const runs = useQuery({ ...reading<Page<RunSummary>>('/runs', { limit: 50 }), refetchInterval: AGAIN_MS });
  const regions = [...new Set(clusters.map((cluster) => cluster.region))].filter(Boolean).sort();
  const states = [...new Set(clusters.map(markOf))];
  const under = (runs.data?.items ?? []).filter((run) => !run.finished || run.id === search.wave);
  const isUnknown = search.wave && !under.some((run) => run.id === search.wave);
  return (
    <div className="row wrap filters">
      <label className="row">
        <span className="spoken">Search clusters</span>
        <input
          data-search
          type="search"
          placeholder="Name, label, taint"
          value={search.search ?? ''}
          maxLength={200}
          onChange={(event) => change({ search: event.target.value }, { replace: true })}
        />
      </label>
      <label className="row">
        <span>Region</span>
        <select value={search.region ?? ''} onChange={(event) => change({ region: event.target.value })}>
          <option value="">all</option>
          {regions.map((region) => (
            <option key={region}>{region}</option>
          ))}
        </select>
      </label>
      <label className="row">
        <span>State</span>
        <select value={search.state ?? ''} onChange={(event) => change({ state: event.target.value })}>
          <option value="">all</option>
          {states.map((state) => (
            <option key={state} value={state}>
              {state.replaceAll('_', ' ')}
            </option>
          ))}
        </select>
      </label>
      <label className="row">
        <span>Waves of</span>
        <select value={search.wave ?? ''} onChange={(event) => change({ wave: event.target.value })}>
          <option value="">no run</option>
          {isUnknown && <option value={search.wave}>{search.wave}</option>}
          {under.map((run) => (
            <option key={run.id} value={run.id}>
              {`${run.application} ${run.commit.slice(0, 7)}`}
            </option>
          ))}
        </select>
      </label>
      <span className="grow" />
      <span className="muted small">
        {`${shown} of ${clusters.length}, observed `}
        <Time at={asServerTime(at)} />
      </span>
    </div>
  );
}

function WaveLegend({ waves }: { waves: readonly Wave[] }) {
  return (
    <ol className="row wrap" aria-label="Waves">
      {waves.map((wave) => (
        <li key={wave.name} className="row">
          <WaveBadge wave={wave} />
          <span>{wave.name}</span>
          <span className="muted">{`${wave.clusters.length} ${wave.clusters.length === 1 ? 'cluster' : 'clusters'}, ${WAVE_WORDS[wave.state]}`}</span>
        </li>
      ))}
    </ol>
  );
}

function Regions({
  regions,
  waves,
  agents,
  chosen,
  onOpen,
}: {
  regions: readonly Region[];
  waves: readonly Wave[];
  /** undefined: nobody knows, or whoever looks may not see them. */
  agents: readonly Agent[] | undefined;
  chosen: string;
  onOpen: (cluster: string) => void;
}) {
  const { items, hold } = useHeldOrder(regions, (region) => region.name);
  return (
    <div className="stack" {...hold}>
      {items.map((region) => (
        <RegionTiles key={region.name} region={region} waves={waves} agents={agents} chosen={chosen} onOpen={onOpen} />
      ))}
    </div>
  );
}

function RegionTiles({
  region,
  waves,
  agents,
  chosen,
  onOpen,
}: {
  region: Region;
  waves: readonly Wave[];
  /** undefined: nobody knows, or whoever looks may not see them. */
  agents: readonly Agent[] | undefined;
  chosen: string;
  onOpen: (cluster: string) => void;
}) {
  const { items, hold } = useHeldOrder(region.clusters, (cluster) => cluster.name);
  const name = region.name || 'No region';
  return (
    <section aria-label={name} className="stack">
      <h2>
        {name}{' '}
        <span className="muted">
          {region.troubled > 0
            ? `${region.troubled} of ${region.clusters.length} ${region.troubled === 1 ? 'needs' : 'need'} a look`
            : region.clusters.length}
        </span>
      </h2>
      <ul className="tiles" {...hold}>
        {items.map((cluster) => (
          <li key={cluster.name}>
            <Tile
              cluster={cluster}
              wave={waves.find((wave) => wave.clusters.includes(cluster.name))}
              agent={agents ? agentOf(cluster, agents) : null}
              isChosen={cluster.name === chosen}
              onOpen={() => onOpen(cluster.name)}
            />
          </li>
        ))}
      </ul>
    </section>
  );
}
