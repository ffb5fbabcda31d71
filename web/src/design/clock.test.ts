import { expect, test } from 'vitest';

import { calendar, duration, exact, parsed, relative } from './clock';

const NOON = new Date(2026, 2, 12, 12, 0, 0).getTime();

test.each([
  [0, '0 s'],
  [59.4, '59 s'],
  [372, '6 m 12 s'],
  [7500, '2 h 05 m'],
  [273_600, '3 d 4 h'],
  [-5, '0 s'],
])('%s seconds are %s', (seconds, words) => {
  expect(duration(seconds)).toBe(words);
});

test.each([
  [0, 'now'],
  [-12, '12 s ago'],
  [180, 'in 3 min'],
  [-7200, '2 h ago'],
  [-5 * 86_400, '5 d ago'],
])('a moment %s seconds from now is %s', (seconds, words) => {
  expect(relative(NOON + seconds * 1000, NOON)).toBe(words);
});

test('a column says the hour of today, yesterday, and the date of what is longer ago', () => {
  const shown = [-3600, -86_400, -5 * 86_400, -400 * 86_400].map((seconds) =>
    calendar(NOON + seconds * 1000, NOON),
  );

  expect(shown).toEqual(['11:00', 'yesterday', '7 Mar', '2025-02-05']);
});

test('the exact time names its zone', () => {
  expect(exact(NOON)).toMatch(/^2026-03-12 12:00:00 UTC([+-]\d\d:\d\d)?$/);
});

test('what is no time is none', () => {
  expect([parsed(null), parsed(''), parsed('soon')]).toEqual([null, null, null]);
});
