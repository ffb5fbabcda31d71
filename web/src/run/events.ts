/** A run brought up to date by its events. Pure: the run and what happened in, the run out. */

import type { Run, Stage, Task } from '../api/types';
import type { StreamEvent } from '../api/stream-parser';

/** What any event may say; which fields there are depends on `event`. */
export interface RunEvent {
  number: number;
  event: string;
  at: string;
  stage: string;
  target: string;
  attempt: number;
  status: string;
  reason: string;
  sentence: string;
  deadline: string | null;
  ready: number;
  total: number;
  wantedWeights: Record<string, number>;
  observedWeights: Record<string, number>;
  details: string[];
  targets: string[];
}

/** Events after which more than the cells has changed: the run is read again. */
const BEYOND_CELLS = new Set([
  'run-started',
  'run-changed',
  'run-finished',
  'rollback-started',
  'stage-started',
  'stage-waiting',
  'stage-finished',
  'request-refused',
]);

/** Read an event of the stream; null: it is none that a reader knows. */
export function readEvent(event: StreamEvent): RunEvent | null {
  try {
    const said = JSON.parse(event.data) as RunEvent;
    const isRead = typeof said === 'object' && said !== null && typeof said.number === 'number';
    return isRead ? { ...said, event: event.event } : null;
  } catch {
    return null;
  }
}

export function changesBeyondCells(events: readonly RunEvent[]): boolean {
  return events.some((event) => BEYOND_CELLS.has(event.event));
}

/**
 * Return the run after `events`; those that it knows already change nothing.
 *
 * What an event does not touch stays the same object, so that only changed cells are drawn again.
 */
export function applyEvents(run: Run, events: readonly RunEvent[]): Run {
  const news = events.filter((event) => event.number > run.lastEvent);
  if (news.length === 0) return run;
  const byStage = new Map<string, RunEvent[]>();
  for (const event of news) {
    if (event.stage) byStage.set(event.stage, [...(byStage.get(event.stage) ?? []), event]);
  }
  const changed = (stage: Stage) => applyToStage(stage, byStage.get(stage.id) ?? []);
  return {
    ...run,
    summary: news.reduce(applyToSummary, run.summary),
    stages: byStage.size > 0 ? run.stages.map(changed) : run.stages,
    rollback: run.rollback && changed(run.rollback),
    lastEvent: news.at(-1)?.number ?? run.lastEvent,
  };
}

function applyToSummary(summary: Run['summary'], event: RunEvent): Run['summary'] {
  switch (event.event) {
    case 'run-changed':
      return { ...summary, status: event.status, reason: event.reason };
    case 'run-finished':
      return { ...summary, status: event.status, reason: event.reason, finished: event.at };
    default:
      return summary;
  }
}

function applyToStage(stage: Stage, events: readonly RunEvent[]): Stage {
  if (events.length === 0) return stage;
  const places = new Map(stage.tasks.map((task, place) => [task.target, place]));
  const tasks = [...stage.tasks];
  let after: Stage = stage;
  for (const event of events) {
    const place = places.get(event.target);
    const task = place === undefined ? undefined : tasks[place];
    if (task && place !== undefined) tasks[place] = applyToTask(task, event);
    else after = applyToWhole(after, event);
  }
  return { ...after, tasks };
}

function applyToWhole(stage: Stage, event: RunEvent): Stage {
  switch (event.event) {
    case 'stage-started':
      return { ...stage, status: 'running', started: event.at, deadline: event.deadline };
    case 'stage-waiting':
      return { ...stage, status: 'waiting', reason: event.reason };
    case 'stage-finished':
      return { ...stage, status: event.status, reason: event.reason, finished: event.at };
    default:
      return stage;
  }
}

function applyToTask(task: Task, event: RunEvent): Task {
  switch (event.event) {
    case 'task-started':
      return {
        ...task,
        status: 'running',
        reason: '',
        attempt: event.attempt,
        started: event.at,
        finished: null,
        deadline: event.deadline,
        progress: '',
        ready: 0,
        total: 0,
      };
    case 'task-progressed':
      return {
        ...task,
        progress: event.sentence,
        ready: event.ready,
        total: event.total,
        wantedWeights: event.wantedWeights ?? task.wantedWeights,
        observedWeights: event.observedWeights ?? task.observedWeights,
      };
    case 'task-finished':
      return {
        ...task,
        status: event.status,
        reason: event.reason,
        attempt: event.attempt,
        finished: event.at,
        details: event.details ?? task.details,
      };
    default:
      return task;
  }
}
