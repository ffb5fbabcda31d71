import { expect, test } from 'vitest';

import { bigRun, iso, smallRun } from '../../tests/fixtures/run';
import { applyEvents, changesBeyondCells, readEvent, type RunEvent } from './events';
import { isSameRow } from './grid';
import { matrixOf } from './matrix';

function happened(event: string, changes: Partial<RunEvent>): RunEvent {
  return { number: 41, event, at: iso(60), ...changes } as RunEvent;
}

const CANARY = '1-K8S_CANARY_ROLLOUT';

test('a task goes through its life', () => {
  const at = { stage: CANARY, target: 'asia' };
  const run = applyEvents(smallRun(), [
    happened('task-started', { ...at, number: 41, attempt: 1, deadline: iso(400) }),
    happened('task-progressed', { ...at, number: 42, sentence: '1 of 3', ready: 1, total: 3 }),
    happened('task-finished', { ...at, number: 43, attempt: 1, status: 'failed', reason: 'out of memory', details: ['a'] }),
  ]);

  expect(run.stages[0]?.tasks[2]).toMatchObject({
    status: 'failed',
    reason: 'out of memory',
    ready: 1,
    total: 3,
    started: iso(60),
    finished: iso(60),
    details: ['a'],
  });
  expect(run.lastEvent).toBe(43);
});

test('what the run knows already changes nothing', () => {
  const run = smallRun();

  expect(applyEvents(run, [happened('run-finished', { number: 40, status: 'failed', reason: '' })])).toBe(run);
});

test('a new attempt begins clean', () => {
  const run = applyEvents(smallRun(), [
    happened('task-started', { stage: CANARY, target: 'eu-west', attempt: 2, deadline: null }),
  ]);

  expect(run.stages[0]?.tasks[0]).toMatchObject({ attempt: 2, ready: 0, progress: '', finished: null });
});

test('the end of a run is the end of its line', () => {
  const { summary } = applyEvents(smallRun(), [happened('run-finished', { status: 'rolled_back', reason: 'errors' })]);

  expect(summary).toMatchObject({ status: 'rolled_back', reason: 'errors', finished: iso(60) });
});

test('one event draws one row again, and no other', () => {
  const run = bigRun(500);
  const event = happened('task-progressed', {
    stage: 'second/6-K8S_PRIMARY_ROLLOUT',
    target: 'asia-south-031',
    sentence: '3 of 3',
    ready: 3,
    total: 3,
  });
  const rowsOf = (each: typeof run) =>
    new Map(matrixOf(each).groups.flatMap((group) => group.rows.map((row) => [row.cluster, row] as const)));
  const before = rowsOf(run);
  const after = rowsOf(applyEvents(run, [event]));

  const changed = [...after.values()].filter((row) => {
    const known = before.get(row.cluster);
    return !known || !isSameRow(known, row);
  });
  expect(changed.map((row) => row.cluster)).toEqual(['asia-south-031']);
});

test('what is no event of ours is passed over', () => {
  const read = (data: string) => readEvent({ id: '1', event: 'x', data });

  expect([read('{'), read('null'), read('3'), read('{}')]).toEqual([null, null, null, null]);
});

test('only what changes more than cells has the run read again', () => {
  expect(changesBeyondCells([happened('task-progressed', {})])).toBe(false);
  expect(changesBeyondCells([happened('stage-waiting', {})])).toBe(true);
});
