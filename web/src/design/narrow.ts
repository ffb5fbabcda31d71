import { useSyncExternalStore } from 'react';

/** The width from which on the sheets of style lay things out below each other. */
const NARROW = '(max-width: 760px)';

function subscribe(listener: () => void): () => void {
  const query = window.matchMedia(NARROW);
  query.addEventListener('change', listener);
  return () => query.removeEventListener('change', listener);
}

/** Whether there is no room for two things beside each other. */
export function useIsNarrow(): boolean {
  return useSyncExternalStore(subscribe, () => window.matchMedia(NARROW).matches);
}
