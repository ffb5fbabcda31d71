import { useQueryClient, type QueryKey } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';

import { address } from '../api/client';
import { useStream } from './use-stream';

/** However much happens, the same is not read again sooner. */
const LEAST_MS = 1_500;

/** Read `keys` again when anything happens anywhere, at most every 1.5 seconds. */
export function useChanges(keys: readonly QueryKey[], application = ''): void {
  const client = useQueryClient();
  const timer = useRef<number | undefined>(undefined);
  const wanted = useRef(keys);
  useEffect(() => {
    wanted.current = keys;
  });
  useEffect(
    () => () => {
      window.clearTimeout(timer.current);
      timer.current = undefined;
    },
    [],
  );
  const readSoon = () => {
    timer.current ??= window.setTimeout(() => {
      timer.current = undefined;
      for (const key of wanted.current) void client.invalidateQueries({ queryKey: key });
    }, LEAST_MS);
  };
  // This stream begins with now: what happened while it was lost is read, not told.
  useStream(address('/events/stream', { application }), readSoon, '', readSoon);
}
