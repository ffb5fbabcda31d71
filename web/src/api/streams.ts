/**
 * Streams that go on where they broke off.
 *
 * Read with `fetch` rather than `EventSource`: a refusal's code says whether to log in (401), to
 * stop (204, 403, 404) or to come again, and events need not be known by name beforehand.
 */

import { coalesce, type Schedule } from './coalesce';
import { problemOf } from './client';
import { StreamParser, type StreamEvent } from './stream-parser';

export type Connection = 'connecting' | 'open' | 'lost' | 'ended';

export interface Following {
  /** Address with the query. */
  url: string;
  /** Goes on after this event; empty: as `url` says. */
  after?: string;
  /** All events of a frame at once, in order. */
  onEvents: (events: StreamEvent[]) => void;
  onConnection?: (state: Connection) => void;
  schedule?: Schedule;
}

/** The server sends a comment every 15 seconds; silence of three of them is a dead connection. */
const SILENCE_MS = 45_000;
const LONGEST_WAIT_MS = 15_000;
/** Nothing comes by asking again. */
const FINAL = new Set([400, 401, 403, 404, 422]);

/** Follow a stream until the returned function is called, or the server says that it has ended. */
export function follow(following: Following): () => void {
  const stopped = new AbortController();
  const { push, cancel } = coalesce(following.onEvents, following.schedule);
  void run(following, push, stopped.signal);
  return () => {
    stopped.abort();
    cancel();
  };
}

async function run(
  following: Following,
  push: (event: StreamEvent) => void,
  stopped: AbortSignal,
): Promise<void> {
  const tell = (state: Connection) => {
    if (!stopped.aborted) following.onConnection?.(state);
  };
  let last = following.after ?? '';
  let failures = 0;
  tell('connecting');
  while (!stopped.aborted) {
    const outcome = await once(following.url, last, stopped, {
      opened: () => tell('open'),
      event: (event) => {
        failures = 0;
        if (event.id !== '') last = event.id;
        if (event.event !== 'closing' && event.event !== 'dropped') push(event);
      },
    });
    if (outcome === 'ended') {
      tell('ended');
      return;
    }
    if (outcome === 'failed') tell('lost');
    failures += 1;
    await pause(waitAfter(failures, Math.random()), stopped);
  }
}

/** How long to wait before attempt `failures` + 1, in milliseconds; `chance` spreads viewers. */
export function waitAfter(failures: number, chance: number): number {
  const most = Math.min(LONGEST_WAIT_MS, 250 * 2 ** Math.min(failures - 1, 10));
  return most * (0.5 + chance / 2);
}

interface Taken {
  opened: () => void;
  event: (event: StreamEvent) => void;
}

async function once(
  url: string,
  last: string,
  stopped: AbortSignal,
  taken: Taken,
): Promise<'ended' | 'failed' | 'closed'> {
  const silence = new AbortController();
  let timer = setTimeout(() => silence.abort(), SILENCE_MS);
  try {
    const response = await fetch(url, {
      credentials: 'same-origin',
      headers: { Accept: 'text/event-stream', ...(last ? { 'Last-Event-ID': last } : {}) },
      signal: AbortSignal.any([stopped, silence.signal]),
    });
    if (response.status === 204) return 'ended';
    if (!response.ok) {
      const problem = await problemOf(response);
      return FINAL.has(problem.status) ? 'ended' : 'failed';
    }
    taken.opened();
    const parser = new StreamParser();
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const piece = await reader?.read();
      if (piece === undefined || piece.done) return 'closed';
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), SILENCE_MS);
      for (const event of parser.push(piece.value)) taken.event(event);
    }
  } catch {
    return 'failed';
  } finally {
    clearTimeout(timer);
  }
}

function pause(milliseconds: number, stopped: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    stopped.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
