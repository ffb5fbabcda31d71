import { expect, it } from 'vitest';

import { entry, event } from './activity-fixtures';
import { byDay, changesOf, describeEntry, describeEvent, describeFilter, isNotable, reasonOf, toneOf } from './activity-model';

it.each([
  [{}, 'ana paused shop'],
  [{ action: 'cluster.drain', application: '', document: { cluster: 'eu' } }, 'ana drained eu'],
  [{ action: 'run.approve', result: 'denied' }, 'ana: run.approve shop (was not allowed)'],
  [{ action: 'token.create', application: '', document: { name: 'ci' } }, 'ana made the token ci'],
  [{ action: 'session.begin', application: '', project: '', document: {} }, 'ana logged in'],
  [{ action: 'object.taken-over', application: '', document: { name: 'web' } }, 'ana: object.taken-over web'],
  [{ action: 'run.retry', result: 'failed' }, 'ana: run.retry shop (failed)'],
])('says who did what: %j', (fields, sentence) => {
  expect(describeEntry(entry(fields))).toBe(sentence);
});

it('shows only what changed', () => {
  expect(changesOf(entry())).toEqual([{ name: 'paused', before: '', after: 'by ana: black friday' }]);
  expect(changesOf(entry({ before: { taints: ['a'] }, after: { taints: ['a', 'b'] } }))).toEqual([
    { name: 'taints', before: 'a', after: 'a, b' },
  ]);
});

it('says why it was refused before why it was asked', () => {
  expect(reasonOf(entry({ document: { reason: 'because', refusal: 'it is paused already' } }))).toBe('it is paused already');
  expect(reasonOf(entry({ document: {} }))).toBe('');
});

it('says what happened in a run', () => {
  expect(describeEvent(event())).toBe('task finished, K8S_CANARY_ROLLOUT on eu — failed: 0 of 1 pods ready');
  expect(toneOf(event())).toBe('failed');
  expect(toneOf(event({ event: 'stage-waiting', document: {} }))).toBe('waiting');
  expect(isNotable(event({ event: 'task-logged' }))).toBe(false);
});

it('parts a list by day, in its order', () => {
  const items = ['2026-03-12T14:00:00Z', '2026-03-12T01:00:00Z', '2026-03-11T14:00:00Z'];

  const days = byDay(items, (item) => item, (moment) => moment.toISOString().slice(0, 10));

  expect(days.map(([day, of]) => [day, of.length])).toEqual([
    ['2026-03-12', 2],
    ['2026-03-11', 1],
  ]);
});

it('says what a list was narrowed to', () => {
  expect(describeFilter({})).toBe(' yet');
  expect(describeFilter({ by: 'ana', application: 'shop' })).toBe(' as ana to shop');
});
