import { useQuery } from '@tanstack/react-query';
import { useRef, useState, type KeyboardEvent } from 'react';

import { reading } from '../api/queries';
import type { RunMark, RunMarks } from '../api/types';
import { exact } from '../design/clock';
import { Time } from '../design/time';
import { useIsNarrow } from '../design/narrow';
import { groupLabel, groupMarks, lookOf, signOf, type MarkGroup, type TimeLine } from './timeline-model';
import { runPath } from './use-run';

/** So many signs stand beside each other without touching. */
const ROOM = { wide: 48, narrow: 12 };
/** Of a group so many are told. */
const MOST_TOLD = 50;

export interface Marks {
  groups: readonly MarkGroup[];
  omitted: number;
  error: Error | null;
}

/** What happened in a run, laid out on its line. */
export function useMarks(id: string, line: TimeLine | null, isLive: boolean): Marks {
  const isNarrow = useIsNarrow();
  const { data, error } = useQuery({
    ...reading<RunMarks>(`${runPath(id)}/marks`),
    refetchInterval: isLive ? 5_000 : false,
  });
  const groups = line && data ? groupMarks(line, data.items, isNarrow ? ROOM.narrow : ROOM.wide) : [];
  return { groups, omitted: data?.omitted ?? 0, error: data ? null : error };
}

/** The signs, one tab stop with arrows between them. */
export function MarkLane({
  groups,
  chosen,
  onChoose,
}: {
  groups: readonly MarkGroup[];
  chosen: number;
  onChoose: (place: number) => void;
}) {
  const lane = useRef<HTMLDivElement>(null);
  const [stop, setStop] = useState(groups.length - 1);
  const current = Math.min(Math.max(stop, 0), groups.length - 1);
  const move = (event: KeyboardEvent) => {
    const next = {
      ArrowLeft: current - 1,
      ArrowRight: current + 1,
      Home: 0,
      End: groups.length - 1,
    }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    lane.current?.querySelectorAll('button')[Math.min(Math.max(next, 0), groups.length - 1)]?.focus();
  };
  return (
    // Arrows go from sign to sign; each is a button.
    <div ref={lane} role="toolbar" aria-label="What happened" className="mark-lane" onKeyDown={move}>
      {groups.map((group, place) => (
        <button
          key={group.at}
          type="button"
          className={`mark mark-${group.kind}`}
          style={{ insetInlineStart: `${group.place * 100}%` }}
          tabIndex={place === current ? 0 : -1}
          aria-pressed={place === chosen}
          aria-label={`${exact(group.at)}: ${groupLabel(group)}`}
          onFocus={() => {
            setStop(place);
            onChoose(place);
          }}
          onPointerEnter={() => onChoose(place)}
          onClick={() => onChoose(place)}
        >
          <span aria-hidden="true">{signOf(group)}</span>
        </button>
      ))}
    </div>
  );
}

/** What the chosen signs stand for, each with its time. */
export function MarkDetails({ group, omitted }: { group: MarkGroup; omitted: number }) {
  const shown = group.marks.slice(0, MOST_TOLD);
  const more = group.marks.length - shown.length;
  return (
    <ul className="mark-details small" aria-label="What happened then">
      {shown.map((mark, index) => (
        <Told key={`${mark.at} ${index}`} mark={mark} />
      ))}
      {more > 0 && <li className="muted">{`${more} more at about the same time`}</li>}
      {omitted > 0 && <li className="muted">{`${omitted} marks in the middle of the run are not shown`}</li>}
    </ul>
  );
}

function Told({ mark }: { mark: RunMark }) {
  return (
    <li className="row">
      <span className="mark-time muted">
        <Time at={mark.at} />
      </span>
      <span className={`mark mark-flat mark-${lookOf(mark)}`} aria-hidden="true">
        {signOf({ at: 0, place: 0, marks: [mark], kind: lookOf(mark) })}
      </span>
      <span className="breakable">{mark.sentence}</span>
    </li>
  );
}
