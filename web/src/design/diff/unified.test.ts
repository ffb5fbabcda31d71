import { expect, test } from 'vitest';

import { readUnified } from './unified';

test('each line has its sign and its numbers, over several hunks', () => {
  const text = '--- before\n+++ after\n@@ -1,2 +1,2 @@\n a: 1\n-b: 2\n+b: 3\n@@ -9 +9,2 @@\n c: 4\n+--- d';

  expect(readUnified(text)).toEqual([
    { sign: 'same', text: 'a: 1', before: 1, after: 1 },
    { sign: 'removed', text: 'b: 2', before: 2, after: null },
    { sign: 'added', text: 'b: 3', before: null, after: 2 },
    { sign: 'same', text: 'c: 4', before: 9, after: 9 },
    { sign: 'added', text: '--- d', before: null, after: 10 },
  ]);
});

test('what is created has lines on one side, and no text has none', () => {
  const created = readUnified('--- before\n+++ after\n@@ -0,0 +1,2 @@\n+a: 1\n+b: 2');

  expect(created.map(({ sign, after }) => [sign, after])).toEqual([['added', 1], ['added', 2]]);
  expect(readUnified('')).toEqual([]);
});
