import { expect, test } from 'vitest';

import { coalesce, type Schedule } from './coalesce';

function frames(): Schedule & { next: () => void; requested: number } {
  let callback: (() => void) | null = null;
  return {
    requested: 0,
    request(wanted) {
      callback = wanted;
      this.requested += 1;
      return this.requested;
    },
    cancel() {
      callback = null;
    },
    next() {
      const due = callback;
      callback = null;
      due?.();
    },
  };
}

test('what arrives within a frame is delivered at once and in order', () => {
  const delivered: number[][] = [];
  const schedule = frames();
  const { push } = coalesce<number>((items) => delivered.push(items), schedule);

  for (let item = 0; item < 300; item += 1) push(item);
  schedule.next();
  push(300);
  schedule.next();

  expect(delivered.map((items) => items.length)).toEqual([300, 1]);
  expect(schedule.requested).toBe(2);
});

test('nothing is delivered after it was cancelled', () => {
  const delivered: number[][] = [];
  const schedule = frames();
  const { push, cancel } = coalesce<number>((items) => delivered.push(items), schedule);

  push(1);
  cancel();
  schedule.next();

  expect(delivered).toEqual([]);
});
