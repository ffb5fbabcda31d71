/** One clock for the whole page, set by the server's: a browser's own may be wrong by hours. */

import { useSyncExternalStore } from 'react';

let offset = 0;
let now = Date.now();
let timer: number | undefined;
const listeners = new Set<() => void>();

/** Set the clock by a time that the server wrote just now, in milliseconds. */
export function setServerTime(at: number): void {
  // Answers travel; only what no journey explains is a skew.
  if (Number.isNaN(at) || Math.abs(at - serverNow()) <= 5_000) return;
  offset = at - Date.now();
  tick();
}

/** Milliseconds now, as the server counts them. */
export function serverNow(): number {
  return Date.now() + offset;
}

/** Write a moment of this browser's clock as the server would. */
export function asServerTime(at: number): string {
  return new Date(at + offset).toISOString();
}

function tick(): void {
  now = serverNow();
  for (const each of listeners) each();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= window.setInterval(tick, 1000);
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
