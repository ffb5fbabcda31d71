import { useQuery } from '@tanstack/react-query';

import { getAll } from '../api/client';
import type { Event } from '../api/types';
import { Empty, Failed, Loading } from '../design/placeholders';
import { Time } from '../design/time';
import { eventSentence } from './event-words';
import type { RunEvent } from './events';
import { runPath } from './use-run';

/** What happened to one task, the newest first. */
export function EventsView({
  run,
  stage,
  cluster,
  live,
}: {
  run: string;
  stage: string;
  cluster: string;
  live: readonly RunEvent[];
}) {
  const { data, error, refetch } = useQuery({
    queryKey: [`${runPath(run)}/events`],
    queryFn: ({ signal }) => getAll<Event>(`${runPath(run)}/events`, {}, signal),
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (!data) return error ? <Failed error={error} onRetry={() => void refetch()} /> : <Loading lines={5} />;
  const last = data.at(-1)?.number ?? 0;
  const kept = data.map((event) => ({ ...event.document, number: event.number, event: event.event, at: event.at }) as unknown as RunEvent);
  const all = [...kept, ...live.filter((event) => event.number > last)];
  const mine = all.filter((event) => event.stage === stage && (!event.target || event.target === cluster));
  if (mine.length === 0) return <Empty title="Nothing has happened here yet" />;
  return (
    <ol className="events">
      {mine
        .slice(-300)
        .reverse()
        .map((event) => (
          <li key={event.number} className="event">
            <span className="muted small event-at">
              <Time at={event.at} />
            </span>
            <span className="grow">{eventSentence(event)}</span>
          </li>
        ))}
    </ol>
  );
}
