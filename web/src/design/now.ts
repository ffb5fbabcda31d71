/** One clock for the whole page, set by the server's: a browser's own may be wrong by hours. */

import { useSyncExternalStore } from 'react';

let offset = 0;
let now = Date.now();
let timer: number | undefined;
const listeners = new Set<() => void>();

/** Set the clock by a time that the server wrote just now, in milliseconds. */
export function setServerTime(at: number): void {
  const found = at - Date.now();
  // Answers travel; only what no journey explains is a skew.
  offset = Math.abs(found) > 5_000 ? found : 0;
}

/** Milliseconds now, as the server counts them. */
export function serverNow(): number {
  return Date.now() + offset;
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= window.setInterval(() => {
    now = serverNow();
    for (const each of listeners) each();
  }, 1000);
  now = serverNow();
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) {
      window.clearInterval(timer);
      timer = undefined;
    }
  };
}

/** Milliseconds now, again each second. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => now);
}
