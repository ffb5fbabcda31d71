import { duration, parsed } from '../design/clock';
import { useNow } from '../design/now';
import { stateOf } from '../design/state';
import { StateShape } from '../design/state-shape';
import { Elapsed } from '../design/time';
import { afterFailure, budget, counts, stageTitle, type Group } from './matrix';

/** A wave: how far it is, what it puts up with, and what it waits for. */
export function GroupHead({
  group,
  isFolded,
  onFold,
}: {
  group: Group;
  isFolded: boolean;
  onFold: () => void;
}) {
  return (
    <>
      <button type="button" className="group-fold" aria-expanded={!isFolded} onClick={onFold}>
        <span aria-hidden="true">{isFolded ? '▸' : '▾'}</span> {group.name}
      </button>
      <span className="row small">
        {counts(group).map(([status, count]) => (
          <span key={status} className="group-count">
            <StateShape status={status} label={stateOf(status).word} /> {count}
          </span>
        ))}
      </span>
      <span className="muted small truncate">
        {group.wave && `${budget(group.wave)}; ${afterFailure(group.wave)}`}
      </span>
      {group.stage && group.stage.status !== 'pending' && (
        <span className="small truncate group-stage" title={group.stage.reason}>
          <StateShape status={group.stage.status} label={stateOf(group.stage.status).word} />{' '}
          {stageTitle(group.stage.name)}
          {parsed(group.stage.started) !== null && (
            <>
              {' '}
              <Elapsed from={group.stage.started} until={group.stage.finished} />
            </>
          )}
          {parsed(group.stage.deadline) !== null && group.stage.finished === null && <Remaining until={group.stage.deadline} />}
          {group.stage.reason && `: ${group.stage.reason}`}
        </span>
      )}
    </>
  );
}

/** When the stage is over at the latest; a soak ends before. */
function Remaining({ until }: { until: string | null }) {
  const left = ((parsed(until) ?? 0) - useNow()) / 1000;
  return <span className="muted">{left > 0 ? ` (times out in ${duration(left)})` : ' (its time is over)'}</span>;
}
