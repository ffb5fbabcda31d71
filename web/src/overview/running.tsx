import { Link } from '@tanstack/react-router';

import type { RunningRun } from '../api/types';
import { Commit } from '../design/commit';
import { useHeldOrder } from '../design/held-order';
import { StateShape } from '../design/state-shape';
import { stateOf } from '../design/state';
import { Elapsed } from '../design/time';

/** Runs under way, a line each. */
export function Running({ items, omitted }: { items: readonly RunningRun[]; omitted: number }) {
  const { items: shown, hold } = useHeldOrder(items, idOf);
  if (items.length === 0) return null;
  return (
    <section aria-labelledby="running" {...hold}>
      <h2 id="running">
        Running <span className="count">{items.length + omitted}</span>
      </h2>
      <ul className="running-list">
        {shown.map((item) => (
          <li key={item.run} className="panel">
            <Link className="running" to="/runs/$run" params={{ run: item.run }}>
              <span className="row">
                <StateShape
                  status={item.status}
                  progress={item.stagesDone / Math.max(1, item.stagesTotal)}
                  label={stateOf(item.status).word}
                />
                <strong className="truncate">{item.application}</strong>
                <Commit commit={item.commit} />
                <span className="grow truncate muted">{item.subject}</span>
                <span className="muted small">
                  <Elapsed from={item.started} until={null} />
                </span>
              </span>
              <span className="row small">
                <Stages done={item.stagesDone} total={item.stagesTotal} />
                <span>
                  {item.stagesDone}/{item.stagesTotal} stages
                </span>
                <span>
                  {item.clustersDone}/{item.clustersTotal} clusters
                </span>
                {item.clustersFailed > 0 && (
                  <span className="tone-text-bad">{item.clustersFailed} failed</span>
                )}
                {item.canaryWeight !== null && <span>canary {item.canaryWeight} %</span>}
              </span>
              <span className="running-sentence small muted">{item.sentence}</span>
            </Link>
          </li>
        ))}
      </ul>
      {omitted > 0 && <p className="muted small">and {omitted} more</p>}
    </section>
  );
}

function idOf(item: RunningRun): string {
  return item.run;
}

/** A bar of one piece per stage, or a plain one where there are many. */
function Stages({ done, total }: { done: number; total: number }) {
  const pieces = Math.min(Math.max(total, 1), 24);
  const full = Math.round((done / Math.max(1, total)) * pieces);
  return (
    <svg className="stages-bar" viewBox={`0 0 ${pieces * 8} 8`} width={pieces * 8} height="8" aria-hidden="true">
      {Array.from({ length: pieces }, (_, piece) => (
        <rect
          key={piece}
          className={piece < full ? 'stages-done' : 'stages-open'}
          x={piece * 8}
          y="0.5"
          width="6"
          height="7"
          rx="1.5"
        />
      ))}
    </svg>
  );
}
