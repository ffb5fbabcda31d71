/** A run on a line of time: its stages as bars, what happened as marks. Pure. */

import type { Run, RunMark, Stage } from '../api/types';
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

/** Marks that would lie over each other, as one. */
export interface MarkGroup {
  /** Milliseconds: of the first of them. */
  at: number;
  /** Where it is on the line, from 0 to 1. */
  place: number;
  marks: RunMark[];
  /** What it looks like: the kind of all of them, else `many`. */
  kind: string;
}

export interface TimeLine {
  from: number;
  until: number;
  bars: Bar[];
}

/** Lay a run out until `now`; null: it has not begun. */
export function timeLine(run: Run, now: number): TimeLine | null {
  const from = parsed(run.summary.started);
  if (from === null) return null;
  const until = Math.max(from + 1000, parsed(run.summary.finished) ?? now);
  const stages = run.rollback ? [...run.stages, run.rollback] : run.stages;
  const answered = new Set(run.approvals.map((approval) => approval.stage));
  const bars = stages
    .map((stage) => barOf(stage, stages, until, answered.has(stage.id)))
    .filter((bar) => bar !== null);
  return { from, until, bars };
}

function barOf(stage: Stage, all: readonly Stage[], until: number, isAnswered: boolean): Bar | null {
  const started = parsed(stage.started);
  const asked = isAnswered || (started === null && stage.status === 'waiting') ? waitingSince(stage, all) : null;
  const from = asked ?? started;
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

/** A stage that people are asked about begins once they have agreed: they are asked since the one before it ended. */
function waitingSince(stage: Stage, all: readonly Stage[]): number | null {
  const before = all.slice(0, all.indexOf(stage)).filter((each) => each.wave === stage.wave || each.wave === '');
  const ends = before.map((each) => parsed(each.finished)).filter((end) => end !== null);
  return ends.length > 0 ? Math.max(...ends) : null;
}

/**
 * Lay marks out on a line, at most `room` beside each other; nearer ones are one group.
 *
 * Marks come in the order of time, and stay in it.
 */
export function groupMarks(line: TimeLine, marks: readonly RunMark[], room: number): MarkGroup[] {
  const groups: MarkGroup[] = [];
  for (const mark of marks) {
    const at = parsed(mark.at);
    if (at === null) continue;
    const place = Math.min(1, Math.max(0, (at - line.from) / (line.until - line.from)));
    const last = groups.at(-1);
    if (last && place - last.place < 1 / Math.max(1, room - 1)) {
      last.marks.push(mark);
      if (lookOf(mark) !== last.kind) last.kind = 'many';
    } else groups.push({ at, place, marks: [mark], kind: lookOf(mark) });
  }
  return groups;
}

/** What a mark looks like: its kind, of a verdict its result. */
export function lookOf(mark: RunMark): string {
  return mark.kind === 'verdict' ? mark.result || 'inconclusive' : mark.kind;
}

const SIGNS: Record<string, string> = {
  approved: '✓',
  rejected: '✕',
  paused: '‖',
  resumed: '▸',
  decision: '●',
  weights: '⇄',
  success: '✓',
  failure: '✕',
  inconclusive: '?',
  running: '…',
  lost: '⌀',
  back: '↩',
  rollback: '↺',
};

/** The sign of a group, beside its colour: of several how many they are. */
export function signOf(group: MarkGroup): string {
  return group.marks.length > 1 ? String(group.marks.length) : (SIGNS[group.kind] ?? '●');
}

/** What is read out of a group. */
export function groupLabel(group: MarkGroup): string {
  const [first] = group.marks;
  if (group.marks.length === 1 && first) return first.sentence;
  return `${group.marks.length} marks, the first: ${first?.sentence ?? ''}`;
}
