import { useSyncExternalStore } from 'react';

const NARROW = '(max-width: 760px)';

/** Whether there is room for one thing beside another no longer: a phone. */
export function useIsNarrow(): boolean {
  return useSyncExternalStore(
    (listener) => {
      const query = window.matchMedia(NARROW);
      query.addEventListener('change', listener);
      return () => query.removeEventListener('change', listener);
    },
    () => window.matchMedia(NARROW).matches,
  );
}
