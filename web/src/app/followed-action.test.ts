import { expect, test } from 'vitest';

import { action } from '../../tests/fixtures/run';
import { changeOf, sameWish, standingOf } from './followed-action';

const seen = (version: number) => ({ seen: { stage: '2-WAIT_APPROVAL', group: '', version } });
const approve = action('approve', { body: seen(3), consequence: 'approval 1 of 2' });

test('an action is found again wherever the run is by now, and no other one for it', () => {
  const later = action('approve', { body: seen(4) });
  const skipped = action('skip', { body: { ...seen(3), target: 'eu' } });
  const other = action('skip', { body: { ...seen(4), target: 'us' } });

  expect(sameWish([action('reject'), later], approve)).toBe(later);
  expect(sameWish([later, other], skipped)).toBeNull();
});

test('as long as it is the same nothing is asked anew', () => {
  expect(standingOf(approve, { ...approve }).kind).toBe('same');
});

test('another stage, or another consequence, has to be read', () => {
  expect(standingOf(approve, { ...approve, body: seen(4) }).kind).toBe('changed');
  expect(standingOf(approve, { ...approve, consequence: 'approval 2 of 2, the last' }).kind).toBe('changed');
});

test('who stops a run is not held up by what happens there', () => {
  const pause = action('pause', { body: {}, consequence: 'what is under way on us finishes' });
  const later = { ...pause, consequence: 'what is under way on eu finishes' };

  expect(standingOf(pause, later)).toEqual({ kind: 'same', action: later });
});

test('what is not possible any more says why', () => {
  const late = { ...approve, enabled: false, disabledReason: 'ben has approved already' };

  expect(standingOf(approve, late)).toEqual({ kind: 'over', why: 'ben has approved already' });
  expect(standingOf(approve, null)).toEqual({ kind: 'over', why: 'things have moved on, and nothing of the kind is asked now' });
});

test('where the words are the same it is said that the run has moved on', () => {
  const later = { ...approve, body: seen(4), stage: '4-WAIT_APPROVAL' };

  expect(changeOf(approve, later)).toBe('the run is at 4-WAIT_APPROVAL by now; approval 1 of 2');
  expect(changeOf(approve, { ...approve, body: seen(4) })).toBe('the run has moved on; approval 1 of 2');
});
