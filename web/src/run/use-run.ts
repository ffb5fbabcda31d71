/** A run that is followed: read whole once, then brought up to date by its events. */

import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';

import { address, segment } from '../api/client';
import { reading } from '../api/queries';
import type { StreamEvent } from '../api/stream-parser';
import type { Run } from '../api/types';
import { useStream } from '../app/use-stream';
import { applyEvents, changesBeyondCells, readEvent, type RunEvent } from './events';

/** A run is not read again sooner than this, nor than ten times what reading takes. */
const LEAST_MS = 1_000;
/** More events than this since it was read: it is read again rather than remembered. */
const MOST_EVENTS = 5_000;

export function runPath(run: string): string {
  return `/runs/${segment(run)}`;
}

export interface Followed {
  run: Run | undefined;
  error: Error | null;
  retry: () => void;
  /** Events since the page was opened, at most some. */
  events: readonly RunEvent[];
}

export function useRun(id: string): Followed {
  const client = useQueryClient();
  const query = reading<Run>(runPath(id));
  const { data: snapshot, error, refetch } = useQuery({ ...query, staleTime: 10_000 });
  const [events, setEvents] = useState<readonly RunEvent[]>([]);
  const timer = useRef<number | undefined>(undefined);
  const took = useRef(0);
  const readAt = useRef(Number.NEGATIVE_INFINITY);

  const readAgain = useCallback(() => {
    timer.current ??= window.setTimeout(
      () => {
        // From here on what happens is news again.
        timer.current = undefined;
        const began = performance.now();
        readAt.current = began;
        for (const beside of ['actions', 'marks'])
          void client.invalidateQueries({ queryKey: [`${runPath(id)}/${beside}`] });
        void refetch().finally(() => {
          took.current = performance.now() - began;
        });
      },
      // The first news at once: what somebody else decided is seen by whoever is about to.
      Math.max(0, readAt.current + Math.max(LEAST_MS, 10 * took.current) - performance.now()),
    );
  }, [client, id, refetch]);
  useEffect(
    () => () => {
      window.clearTimeout(timer.current);
      timer.current = undefined;
    },
    [readAgain],
  );

  const take = useCallback(
    (arrived: StreamEvent[]) => {
      const news = arrived.map(readEvent).filter((event) => event !== null);
      if (news.length === 0) return;
      setEvents((before) => [...before, ...news].slice(-MOST_EVENTS));
      if (changesBeyondCells(news) || news.length >= MOST_EVENTS) readAgain();
    },
    [readAgain],
  );
  const url = snapshot ? address(`${runPath(id)}/events/stream`) : null;
  useStream(url, take, snapshot ? String(snapshot.lastEvent) : '');

  const run = useMemo(() => snapshot && applyEvents(snapshot, events), [snapshot, events]);
  return { run, error, retry: () => void refetch(), events };
}
