/** A run as cluster × stage: columns, groups of rows, trouble first. Pure. */

import type { Run, RunWave, Stage, Task } from '../api/types';
import { duration, parsed } from '../design/clock';
import { stateOf, type Tone } from '../design/state';

/** A step of the pipeline; the same one of all waves is one column. */
export interface Column {
  /** The stage's id without its wave. */
  key: string;
  title: string;
  /** Stage's kind, as files name it. */
  name: string;
}

export interface Cell {
  column: Column;
  stage: Stage;
  task: Task;
  /** As the task's; of one that its stage holds back for people, `waiting`. */
  status: string;
}

export interface Row {
  cluster: string;
  group: string;
  /** One for each column; null: the stage leaves the cluster out. */
  cells: (Cell | null)[];
  /** The worst of its cells, the smaller the worse. */
  rank: number;
  /** What it is at, or what is wrong with it. */
  cell: Cell | null;
  leftOut: string;
}

export interface Group {
  name: string;
  rows: Row[];
  /** Its budgets; null: the run does not move in waves. */
  wave: RunWave | null;
  /** What the group is at: the stage that goes on, waits or failed. */
  stage: Stage | null;
}

export interface Matrix {
  columns: Column[];
  groups: Group[];
  clusters: number;
}

export type Grouping = 'wave' | 'trouble';

const TITLES: Record<string, string> = {
  K8S_CANARY_ROLLOUT: 'canary',
  K8S_PRIMARY_ROLLOUT: 'primary',
  K8S_BASELINE_ROLLOUT: 'baseline',
  K8S_CANARY_CLEAN: 'clean canary',
  K8S_BASELINE_CLEAN: 'clean baseline',
  K8S_TRAFFIC_ROUTING: 'traffic',
  K8S_SYNC: 'sync',
  ANALYSIS: 'analysis',
  WAIT: 'wait',
  WAIT_APPROVAL: 'approval',
  WAVE_GATE: 'soak',
  WEBHOOK_GATE: 'webhook',
  ROLLBACK: 'rollback',
};

/** What a column is called: the stage's kind in short words. */
export function stageTitle(name: string): string {
  return TITLES[name] ?? name.replace(/^K8S_/, '').replaceAll('_', ' ').toLowerCase();
}

/** A stage's id without its wave: `first/2-WAIT` and `rest/2-WAIT` are one column. */
export function columnKey(stageId: string): string {
  return stageId.slice(stageId.lastIndexOf('/') + 1);
}

/** Lay a run out. */
export function matrixOf(run: Run, grouping: Grouping = 'wave'): Matrix {
  const stages = run.rollback ? [...run.stages, run.rollback] : run.stages;
  const columns = columnsOf(stages);
  const place = new Map(columns.map((column, index) => [column.key, index]));
  const waveOf = new Map(run.waves.flatMap((wave) => wave.clusters.map((name) => [name, wave] as const)));
  const rows = new Map<string, Row>(
    run.targets.map((target) => [
      target.name,
      {
        cluster: target.name,
        group: waveOf.get(target.name)?.name ?? '',
        cells: columns.map(() => null),
        rank: Number.POSITIVE_INFINITY,
        cell: null,
        leftOut: target.leftOut || target.exception,
      },
    ]),
  );
  for (const stage of stages) {
    const at = place.get(columnKey(stage.id));
    const column = at === undefined ? undefined : columns[at];
    if (at === undefined || column === undefined) continue;
    for (const task of stage.tasks) {
      const row = rows.get(task.target);
      if (row) row.cells[at] = { column, stage, task, status: statusOf(stage, task) };
    }
  }
  for (const row of rows.values()) judge(row);
  return { columns, groups: grouped([...rows.values()], run, grouping), clusters: rows.size };
}

/** People are asked about a stage, so nothing of it has begun: that is not "to come" any more. */
function statusOf(stage: Stage, task: Task): string {
  return task.status === 'pending' && stage.status === 'waiting' ? 'waiting' : task.status;
}

function columnsOf(stages: readonly Stage[]): Column[] {
  const columns = new Map<string, Column>();
  for (const stage of stages) {
    const key = columnKey(stage.id);
    if (!columns.has(key)) columns.set(key, { key, title: stageTitle(stage.name), name: stage.name });
  }
  const repeated = new Map<string, number>();
  for (const column of columns.values()) {
    const count = (repeated.get(column.title) ?? 0) + 1;
    repeated.set(column.title, count);
    if (count > 1) column.title = `${column.title} ${count}`;
  }
  // Pipelines number their stages; gates of different waves fall into their places by it. What
  // has no number, the rollback, comes last.
  const number = (column: Column) => {
    const found = Number.parseInt(column.key, 10);
    return Number.isNaN(found) ? Number.POSITIVE_INFINITY : found;
  };
  return [...columns.values()].sort((one, other) =>
    number(one) === number(other) ? 0 : number(one) - number(other),
  );
}

/** Say what a row is at: its worst cell; of two that are as bad, the later one. */
function judge(row: Row): void {
  for (const cell of row.cells) {
    if (cell === null) continue;
    const { rank } = stateOf(cell.status);
    if (rank <= row.rank && !(rank === row.rank && cell.status === 'pending')) {
      row.rank = rank;
      row.cell = cell;
    }
  }
}

function grouped(rows: readonly Row[], run: Run, grouping: Grouping): Group[] {
  if (grouping === 'trouble' || run.waves.length === 0) {
    const name = grouping === 'trouble' && run.waves.length > 0 ? 'all clusters' : '';
    return [{ name, rows: troubleFirst(rows), wave: null, stage: null }];
  }
  const groups = run.waves.map((wave): Group => {
    const members = rows.filter((row) => row.group === wave.name);
    return { name: wave.name, rows: troubleFirst(members), wave, stage: stageOf(run, wave.name) };
  });
  const others = rows.filter((row) => row.group === '');
  if (others.length > 0) groups.push({ name: 'no wave', rows: troubleFirst(others), wave: null, stage: null });
  return groups;
}

/** The stage of a wave that goes on, waits or failed: the first that is not done. */
function stageOf(run: Run, wave: string): Stage | null {
  const mine = run.stages.filter((stage) => stage.wave === wave);
  return mine.find((stage) => !['succeeded', 'skipped'].includes(stage.status)) ?? null;
}

function troubleFirst(rows: readonly Row[]): Row[] {
  return [...rows].sort((one, other) => one.rank - other.rank);
}

/** How far a running task is, from 0 to 1; undefined: nobody knows. */
export function progressOf(task: Task): number | undefined {
  return task.total > 0 ? task.ready / task.total : undefined;
}

/** The figure beside a cell's shape: pods, traffic or time; empty: there is none. */
export function figureOf({ stage, task }: Cell, now: number): string {
  const weights = weightsFigure(task);
  if (task.status === 'succeeded' && stage.name === 'K8S_TRAFFIC_ROUTING' && weights) return weights;
  if (task.status === 'running') {
    if (task.total > 0) return `${task.ready}/${task.total}`;
    if (weights) return weights;
  }
  const started = parsed(task.started);
  if (started === null || task.status === 'pending') return '';
  return duration(((parsed(task.finished) ?? now) - started) / 1000);
}

/** `80/10/10`: primary, canary, baseline as they were seen, else as they are wanted; or `canary 100`. */
function weightsFigure(task: Task): string {
  const observed = Object.keys(task.observedWeights).length > 0;
  const weights = observed ? task.observedWeights : task.wantedWeights;
  const names = VARIANTS.filter((name) => Object.hasOwn(weights, name));
  const [only] = names;
  if (names.length === 1 && only) return `${only} ${weights[only] ?? 0}`;
  return names.map((name) => weights[name]).join('/');
}

export const VARIANTS = ['primary', 'canary', 'baseline'] as const;

/** What a cell says in a sentence. */
export function sentenceOf({ stage, task, status }: Cell): string {
  if (status === 'waiting' && task.status === 'pending') return stage.reason;
  if (task.status === 'running') return task.progress || task.reason;
  return task.reason || task.progress;
}

/** How a cell is read aloud: cluster, stage, state, figure and sentence. */
export function spokenCell(cluster: string, cell: Cell, now: number): string {
  const parts = [stateOf(cell.status).word, figureOf(cell, now), sentenceOf(cell)];
  return `${cluster}, ${cell.column.title}: ${parts.filter(Boolean).join(', ')}`;
}

/** A line of the table: a group's head or a cluster. */
export type Line = { kind: 'group'; group: Group } | { kind: 'row'; row: Row };

/** The lines in order; groups whose name is in `folded` show their head alone. */
export function linesOf(matrix: Matrix, folded: ReadonlySet<string>, find = ''): Line[] {
  const wanted = find.toLowerCase();
  return matrix.groups.flatMap((group): Line[] => {
    const rows = group.rows.filter((row) => row.cluster.toLowerCase().includes(wanted));
    if (rows.length === 0 && wanted !== '') return [];
    const head: Line[] = group.name ? [{ kind: 'group', group }] : [];
    if (folded.has(group.name)) return head;
    return [...head, ...rows.map((row): Line => ({ kind: 'row', row }))];
  });
}

export function lineKey(line: Line): string {
  return line.kind === 'group' ? `group ${line.group.name}` : `row ${line.row.cluster}`;
}

/** From so many clusters on, what is done is out of the way. */
const FOLDED_FROM = 24;

/** Groups whose head alone is shown at first: waves that are done, while others are not. */
export function foldedAtFirst(run: Run, cluster: string): ReadonlySet<string> {
  if (run.targets.length < FOLDED_FROM || run.summary.finished !== null) return new Set();
  const done = run.waves.filter((wave) => stageOf(run, wave.name) === null && !wave.clusters.includes(cluster));
  return new Set(done.length < run.waves.length ? done.map((wave) => wave.name) : []);
}

/** How many cells are in which state, the worst first. */
export function counts(group: Group): [string, number][] {
  const found = new Map<string, number>();
  for (const row of group.rows) {
    const status = row.leftOut ? 'skipped' : (row.cell?.status ?? 'pending');
    found.set(status, (found.get(status) ?? 0) + 1);
  }
  return [...found].sort(([one], [other]) => stateOf(one).rank - stateOf(other).rank);
}

/** `0 of 1 may fail, 0 of 2 may be unreachable`: what a wave puts up with and has put up with. */
export function budget(wave: RunWave): string {
  const parts = [`${wave.failed} of ${wave.failures} allowed failures`];
  if (wave.unreachable > 0) parts.push(`${wave.lost} of ${wave.unreachable} allowed unreachable`);
  return parts.join(', ');
}

/** What comes when a wave fails, in words. */
export function afterFailure(wave: RunWave): string {
  switch (wave.onFailure) {
    case 'rollback':
      return 'then the run is rolled back';
    case 'rollback-wave':
      return 'then this wave is rolled back';
    case 'hold':
      return 'then it waits for a person';
    case 'stop':
      return 'then the run stops as it is';
    default:
      return '';
  }
}

/** The run as it was at `at` (milliseconds): what had not begun is pending, what ran is running. */
export function asOf(run: Run, at: number): Run {
  const stageThen = (stage: Stage): Stage => ({
    ...stage,
    ...then(stage, at),
    tasks: stage.tasks.map((task): Task => {
      const change = then(task, at);
      if (change === null) return task;
      return { ...task, ...change, ready: 0, total: 0, progress: '', reason: '' };
    }),
  });
  const back = parsed(run.rollback?.started);
  return {
    ...run,
    stages: run.stages.map(stageThen),
    rollback: run.rollback && back !== null && back <= at ? stageThen(run.rollback) : null,
  };
}

function then(
  work: { started: string | null; finished: string | null },
  at: number,
): { status: string; finished: null; started?: null } | null {
  const started = parsed(work.started);
  const finished = parsed(work.finished);
  if (started === null || started > at) {
    // What never started but has an end (skipped) had it then.
    if (started === null && finished !== null && finished <= at) return null;
    return { status: 'pending', started: null, finished: null };
  }
  return finished !== null && finished > at ? { status: 'running', finished: null } : null;
}

/** The worst tone of a cell for the map of all of them. */
export function toneOf(cell: Cell | null): Tone | null {
  return cell === null ? null : stateOf(cell.status).tone;
}
