/** A run on a line of time: its stages as bars, what people decided as marks. Pure. */

import type { Run, Stage } from '../api/types';
import { parsed } from '../design/clock';
import { columnKey, stageTitle } from './matrix';

export interface Bar {
  id: string;
  label: string;
  status: string;
  /** Milliseconds. */
  from: number;
  until: number;
  /** Clusters that were done, each at its time: little marks within the bar. */
  ends: { at: number; status: string }[];
}

export interface Mark {
  at: number;
  label: string;
  kind: 'approved' | 'rejected' | 'weights';
}

export interface TimeLine {
  from: number;
  until: number;
  bars: Bar[];
  marks: Mark[];
}

/** Lay a run out until `now`; null: it has not begun. */
export function timeLine(run: Run, now: number): TimeLine | null {
  const from = parsed(run.summary.started);
  if (from === null) return null;
  const until = Math.max(from + 1000, parsed(run.summary.finished) ?? now);
  const stages = run.rollback ? [...run.stages, run.rollback] : run.stages;
  const bars = stages.map((stage) => barOf(stage, stages, until)).filter((bar) => bar !== null);
  return { from, until, bars, marks: marksOf(run) };
}

function barOf(stage: Stage, all: readonly Stage[], until: number): Bar | null {
  const from = parsed(stage.started) ?? (stage.status === 'waiting' ? waitingSince(stage, all) : null);
  if (from === null) return null;
  const ends = stage.tasks
    .map((task) => ({ at: parsed(task.finished), status: task.status }))
    .filter((end): end is { at: number; status: string } => end.at !== null && end.at >= from);
  const title = stageTitle(stage.name || columnKey(stage.id));
  return {
    id: stage.id,
    label: stage.wave ? `${stage.wave} ${title}` : title,
    status: stage.status,
    from,
    until: Math.max(from, parsed(stage.finished) ?? until),
    ends,
  };
}

/** Nothing of a stage that people are asked about has begun: they are asked since the one before it ended. */
function waitingSince(stage: Stage, all: readonly Stage[]): number | null {
  const before = all.slice(0, all.indexOf(stage)).filter((each) => each.wave === stage.wave || each.wave === '');
  const ends = before.map((each) => parsed(each.finished)).filter((end) => end !== null);
  return ends.length > 0 ? Math.max(...ends) : null;
}

function marksOf(run: Run): Mark[] {
  return run.approvals
    .map((approval): Mark | null => {
      const at = parsed(approval.at);
      const verb = approval.approved ? 'approved' : 'rejected';
      const about = approval.group ? ` ${approval.group}` : '';
      return at === null ? null : { at, kind: verb, label: `${approval.by} ${verb}${about}` };
    })
    .filter((mark) => mark !== null);
}
