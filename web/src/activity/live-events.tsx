import { Link, useSearch } from '@tanstack/react-router';
import { useState } from 'react';

import { address } from '../api/client';
import type { StreamEvent } from '../api/stream-parser';
import type { Event } from '../api/types';
import { useStream } from '../app/use-stream';
import { Empty } from '../design/placeholders';
import { StateShape } from '../design/state-shape';
import { Time } from '../design/time';
import { useHeldOrder } from '../design/held-order';
import { describeEvent, isNotable, toneOf } from './activity-model';
import { FilterField } from './filter-field';

/** What a page keeps; the rest is in the runs. */
const MOST_EVENTS = 300;
const STATUS = { failed: 'failed', done: 'succeeded', waiting: 'waiting', running: 'running' } as const;

/** What happens from now on, in every run that may be seen, the newest first. */
export function LiveEvents() {
  const search = useSearch({ from: '/activity' });
  const url = address('/events/stream', { application: search.application, cluster: search.cluster });
  return (
    <div className="stack">
      <div className="row wrap filters activity-filters">
        <FilterField name="application" title="Application" isSearch />
        <FilterField name="cluster" title="Cluster" />
      </div>
      <Followed key={url} url={url} />
    </div>
  );
}

function Followed({ url }: { url: string }) {
  const [events, setEvents] = useState<readonly Event[]>([]);
  useStream(url, (pieces) => setEvents((known) => takeEvents(known, pieces)));
  const { items, hold } = useHeldOrder(events, (event) => String(event.position));
  if (items.length === 0)
    return (
      <Empty title="Nothing has happened since this page was opened">
        What runs do appears here by itself; what was before is in the other tabs.
      </Empty>
    );
  return (
    <ul {...hold}>
      {items.map((event) => (
        <li key={event.position} className="activity-entry activity-run">
          <StateShape status={STATUS[toneOf(event)]} label={toneOf(event)} />
          <Link to="/runs/$run" params={{ run: event.run }}>
            {event.application}
          </Link>
          <span className="grow breakable">{describeEvent(event)}</span>
          <span className="activity-time">
            <Time at={event.at} />
          </span>
        </li>
      ))}
    </ul>
  );
}

/** The newest first, without what is too fine to be read. */
export function takeEvents(known: readonly Event[], pieces: readonly StreamEvent[]): Event[] {
  const fresh = pieces.map((piece) => JSON.parse(piece.data) as Event).filter(isNotable);
  return [...fresh.reverse(), ...known].slice(0, MOST_EVENTS);
}
