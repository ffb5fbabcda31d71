import { expect, test } from 'vitest';

import { bigRun, iso, smallRun, stage, START, task } from '../../tests/fixtures/run';
import {
  asOf,
  budget,
  columnKey,
  counts,
  figureOf,
  foldedAtFirst,
  linesOf,
  matrixOf,
  sentenceOf,
  spokenCell,
  type Cell,
} from './matrix';

const NOW = START + 60_000;

function cell(cluster: string, column: number): Cell {
  const rows = matrixOf(smallRun()).groups.flatMap((group) => group.rows);
  const found = rows.find((row) => row.cluster === cluster)?.cells[column];
  if (!found) throw new Error('there is no such cell');
  return found;
}

test('a step of all waves is one column', () => {
  const matrix = matrixOf(bigRun(40));

  expect(matrix.columns.length).toBe(12);
  expect(columnKey('first/2-WAIT')).toBe('2-WAIT');
  expect(matrix.columns.map((column) => column.title).slice(0, 3)).toEqual(['canary', 'baseline', 'traffic']);
});

test('gates that only some waves have stand in their place; the rollback comes last', () => {
  const run = {
    ...smallRun(),
    stages: [
      stage('a/1-K8S_SYNC', 'K8S_SYNC', [task('eu-west')]),
      stage('a/3-WAIT_APPROVAL', 'WAIT_APPROVAL', [task('eu-west')]),
      stage('b/1-K8S_SYNC', 'K8S_SYNC', [task('asia')]),
      stage('b/2-WAVE_GATE', 'WAVE_GATE', [task('asia')]),
    ],
    rollback: stage('ROLLBACK', 'ROLLBACK', [task('eu-west', { status: 'running' })]),
  };

  expect(matrixOf(run).columns.map((column) => column.title)).toEqual(['sync', 'soak', 'approval', 'rollback']);
});

test('trouble comes first within a group; a cluster is as bad as its worst cell', () => {
  const [group] = matrixOf(smallRun()).groups;

  expect(group?.rows.map((row) => [row.cluster, row.cell?.task.status])).toEqual([
    ['asia', 'unreachable'],
    ['eu-west', 'running'],
    ['us-east', 'running'],
  ]);
});

test('waves keep their order, and over all of them trouble comes first where that is asked for', () => {
  const byWave = matrixOf(bigRun(40), 'wave');
  const byTrouble = matrixOf(bigRun(40), 'trouble');

  expect(byWave.groups.map((group) => group.name)).toEqual(['first', 'second', 'third', 'rest']);
  expect(byTrouble.groups[0]?.rows[0]?.cell?.task.status).toBe('failed');
  expect(byTrouble.groups[0]?.rows.length).toBe(40);
});

test('what people are asked about waits, and says for whom', () => {
  const waiting = stage('1-WAIT_APPROVAL', 'WAIT_APPROVAL', [task('asia')], {
    status: 'waiting',
    reason: 'awaiting approval: 0 of 1',
  });
  const rows = matrixOf({ ...smallRun(), stages: [waiting] }).groups[0]?.rows ?? [];
  const asked = rows.find((row) => row.cluster === 'asia')?.cells[0];

  expect(asked && [asked.status, sentenceOf(asked)]).toEqual(['waiting', 'awaiting approval: 0 of 1']);
});

test('a cell without a task is none', () => {
  const run = { ...smallRun(), stages: [stage('1-K8S_SYNC', 'K8S_SYNC', [task('asia')])] };
  const rows = matrixOf(run).groups[0]?.rows ?? [];

  expect(rows.map((row) => [row.cluster, row.cells[0]?.task.target])).toContainEqual(['us-east', undefined]);
});

test('figures: pods while it runs, weights of traffic, else how long', () => {
  expect(figureOf(cell('eu-west', 0), NOW)).toBe('2/3');
  expect(figureOf(cell('us-east', 1), NOW)).toBe('80/10/10');
  expect(figureOf(cell('us-east', 0), NOW)).toBe('12 s');
  expect(figureOf(cell('us-east', 2), NOW)).toBe('20 s');
  expect(figureOf(cell('asia', 0), NOW)).toBe('');
});

test('a cell is read aloud with everything that its looks say', () => {
  expect(spokenCell('eu-west', cell('eu-west', 0), NOW)).toBe(
    'eu-west, canary: running, 2/3, 2 of 3 pods ready; shop-canary-7f ImagePullBackOff',
  );
});

test('folded groups show their head alone, and a search leaves what is called so', () => {
  const matrix = matrixOf(bigRun(40));

  expect(linesOf(matrix, new Set(['first', 'third', 'rest'])).length).toBe(4 + 10);
  expect(linesOf(matrix, new Set(), 'EU-WEST-000').map((line) => line.kind)).toEqual(['group', 'row']);
});

test('waves that are done are folded at first, but not the one a link leads into', () => {
  const run = bigRun(40);

  expect([...foldedAtFirst(run, '')]).toEqual(['first']);
  expect([...foldedAtFirst(run, run.waves[0]?.clusters[0] ?? '')]).toEqual([]);
  expect([...foldedAtFirst(bigRun(20), '')]).toEqual([]);
});

test('a wave says what it puts up with, and how its clusters are', () => {
  const group = matrixOf(bigRun(40)).groups[1];

  expect(group?.wave && budget(group.wave)).toBe('1 of 2 allowed failures, 0 of 2 allowed unreachable');
  expect(group && counts(group)[0]).toEqual(['failed', 1]);
});

test('a run as it was: what had not begun is pending, what had not ended runs', () => {
  const then = asOf(smallRun(), START + 5_000);
  const statuses = then.stages.map((each) => each.tasks.map((one) => one.status));

  expect(statuses).toEqual([
    ['running', 'running', 'pending'],
    ['pending', 'pending', 'pending'],
    ['pending', 'pending', 'pending'],
    ['pending', 'pending', 'pending'],
  ]);
  expect(asOf({ ...smallRun(), rollback: stage('ROLLBACK', 'ROLLBACK', [], { started: iso(50) }) }, START).rollback).toBeNull();
});
