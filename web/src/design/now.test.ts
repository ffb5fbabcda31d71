import { act, renderHook } from '@testing-library/react';
import { afterEach, expect, test, vi } from 'vitest';

import { asServerTime, serverNow, setServerTime, useNow } from './now';

const DAY = 86_400_000;

afterEach(() => {
  vi.useRealTimers();
  setServerTime(Date.now());
});

test('a browser whose clock is a day ahead shows what the server counts, at once', () => {
  vi.useFakeTimers({ now: 10 * DAY });
  const { result } = renderHook(() => useNow());
  expect(result.current).toBe(10 * DAY);

  act(() => setServerTime(9 * DAY));

  expect(result.current).toBe(9 * DAY);
  expect(asServerTime(Date.now())).toBe(new Date(9 * DAY).toISOString());
});

test('what a journey explains is no skew, and an answer without a time says nothing', () => {
  vi.useFakeTimers({ now: 10 * DAY });

  setServerTime(10 * DAY - 3_000);
  setServerTime(NaN);

  expect(serverNow()).toBe(10 * DAY);
});

test('a clock that is put right while the page is open is believed again', () => {
  vi.useFakeTimers({ now: 10 * DAY });
  setServerTime(9 * DAY);

  vi.setSystemTime(9 * DAY);
  setServerTime(9 * DAY);

  expect(serverNow()).toBe(9 * DAY);
});
