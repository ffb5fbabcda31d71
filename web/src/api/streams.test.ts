import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import type { StreamEvent } from './stream-parser';
import { follow, waitAfter, type Connection } from './streams';

const atOnce = {
  request: (callback: () => void) => {
    queueMicrotask(callback);
    return 1;
  },
  cancel: () => undefined,
};

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** Answers in turn; then silence. */
function answers(...responses: (() => Response)[]): Headers[] {
  const asked: Headers[] = [];
  vi.stubGlobal('fetch', (_: string, init: RequestInit) => {
    asked.push(new Headers(init.headers));
    const next = responses.shift();
    return next ? Promise.resolve(next()) : new Promise(() => undefined);
  });
  return asked;
}

const stream = (text: string) => () => new Response(text);

test('after a break it goes on behind the last event', async () => {
  const asked = answers(stream('id: 4\nevent: line\ndata: a\n\n'), () => new Response('', { status: 503 }), stream('id: 5\ndata: b\n\n'));
  const events: StreamEvent[] = [];
  const states: Connection[] = [];

  const stop = follow({
    url: '/x',
    after: '3',
    onEvents: (arrived) => events.push(...arrived),
    onConnection: (state) => states.push(state),
    schedule: atOnce,
  });
  await vi.advanceTimersByTimeAsync(20_000);
  stop();

  expect(asked.slice(0, 4).map((headers) => headers.get('last-event-id'))).toEqual(['3', '4', '4', '5']);
  expect(events.map((event) => event.data)).toEqual(['a', 'b']);
  expect(states.slice(0, 4)).toEqual(['connecting', 'open', 'lost', 'open']);
});

test.each([204, 401, 403, 404])('%s: nothing more comes, and nobody asks again', async (status) => {
  const asked = answers(() => new Response(null, { status }));
  const states: Connection[] = [];

  follow({ url: '/x', onEvents: () => undefined, onConnection: (state) => states.push(state), schedule: atOnce });
  await vi.advanceTimersByTimeAsync(60_000);

  expect(asked.length).toBe(1);
  expect(states.at(-1)).toBe('ended');
});

test('a connection that says nothing is left and made anew', async () => {
  let count = 0;
  vi.stubGlobal('fetch', (_: string, init: RequestInit) => {
    const body = new ReadableStream({
      start(controller) {
        init.signal?.addEventListener('abort', () => controller.error(new Error('aborted')));
      },
    });
    count += 1;
    return Promise.resolve(new Response(body));
  });

  const stop = follow({ url: '/x', onEvents: () => undefined, schedule: atOnce });
  await vi.advanceTimersByTimeAsync(100_000);
  stop();

  expect(count).toBeGreaterThanOrEqual(2);
});

test('waiting grows up to a quarter of a minute and is spread', () => {
  expect([1, 2, 3, 20].map((failures) => waitAfter(failures, 1))).toEqual([250, 500, 1000, 15_000]);
  expect(waitAfter(3, 0)).toBe(500);
});
