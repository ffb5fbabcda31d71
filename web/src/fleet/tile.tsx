import { StateWord } from '../design/state-shape';
import { Time } from '../design/time';
import type { Cluster } from '../api/types';
import { isTroubled, loadsOf, markOf, wordOf, type Wave } from './fleet-model';
import { WaveBadge } from './wave-badge';
import type { AgentLine } from './workers-model';

/** One cluster at a glance: how it is, since when if it is not well, and how full. */
export function Tile({
  cluster,
  wave,
  agent,
  isChosen,
  onOpen,
}: {
  cluster: Cluster;
  wave: Wave | undefined;
  /** Through which it is reached; null: nobody knows how that is. */
  agent: AgentLine | null;
  isChosen: boolean;
  onOpen: () => void;
}) {
  const { applications } = cluster;
  const mark = markOf(cluster);
  const taints = cluster.taints.filter((taint) => !taint.key.startsWith('volary.dev/'));
  return (
    <button
      type="button"
      className={`tile panel tile-${mark}`}
      aria-pressed={isChosen}
      onClick={onOpen}
    >
      <span className="row">
        <span className="grow truncate tile-name">{cluster.name}</span>
        {wave && <WaveBadge wave={wave} />}
      </span>
      <span className="row">
        <StateWord status={mark} word={wordOf(cluster)} />
        {mark !== 'ready' && cluster.since && (
          <span className="muted small">
            <Time at={cluster.since} />
          </span>
        )}
      </span>
      {isTroubled(cluster) && cluster.reason && <span className="small tile-reason">{cluster.reason}</span>}
      {cluster.agent && (
        <span className="small">
          {agent ? <StateWord status={agent.status} word={`agent ${agent.word}`} /> : 'through its agent'}
        </span>
      )}
      <Loads cluster={cluster} />
      <span className="muted small tile-facts">
        <span>{cluster.facts ? cluster.facts.version : 'version not known'}</span>{' '}
        {typeof applications === 'number' && (
          <span>{`${applications} ${applications === 1 ? 'application' : 'applications'}`}</span>
        )}
      </span>
      {taints.length > 0 && (
        <span className="row wrap">
          {taints.map((taint) => (
            <span key={`${taint.key} ${taint.effect}`} className="badge">
              {taint.value ? `${taint.key}=${taint.value}` : taint.key}
            </span>
          ))}
        </span>
      )}
    </button>
  );
}

function Loads({ cluster }: { cluster: Cluster }) {
  const loads = loadsOf(cluster);
  if (loads.length === 0) return null;
  return (
    <span className="tile-loads">
      {loads.map((load) => (
        <span key={load.name} title={`${load.name}: ${load.text}`}>
          <svg viewBox="0 0 40 5" preserveAspectRatio="none" className="tile-load" aria-hidden="true">
            <rect width="40" height="5" className="load-all" />
            <rect width={40 * load.used} height="5" className={load.used > 0.9 ? 'load-high' : 'load-used'} />
          </svg>
          <span className="spoken">{`${load.name}: ${load.text} in use`}</span>
        </span>
      ))}
    </span>
  );
}
