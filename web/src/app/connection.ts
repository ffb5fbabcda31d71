/** Whether what is shown is followed: the worst of all streams and requests of the page. */

import { useSyncExternalStore } from 'react';

import type { Connection } from '../api/streams';

const states = new Map<string, { state: Connection; since: number }>();
const listeners = new Set<() => void>();
let lostSince: number | null = null;

/** Tell how the stream `name` is; `ended` forgets it. */
export function reportConnection(name: string, state: Connection): void {
  const before = states.get(name);
  if (state === 'ended') states.delete(name);
  else if (before?.state !== 'lost' || state === 'open') {
    // While it is tried again it is still lost, since the first time.
    if (before?.state !== state) states.set(name, { state, since: Date.now() });
  }
  const lost = [...states.values()].filter((each) => each.state === 'lost');
  const since = lost.length > 0 ? Math.min(...lost.map((each) => each.since)) : null;
  if (since !== lostSince) {
    lostSince = since;
    for (const listener of listeners) listener();
  }
}

/** Since when something is not followed, in milliseconds of this browser; null: all is. */
export function useLostSince(): number | null {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => lostSince,
  );
}
