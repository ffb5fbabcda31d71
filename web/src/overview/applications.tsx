import { useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useRef, useState } from 'react';

import type { ApplicationRow, Overview, PlaceCommit } from '../api/types';
import { usePreferences } from '../app/preferences';
import { useChangeSearch } from '../app/search-params';
import { Commit } from '../design/commit';
import { useHeldOrder } from '../design/held-order';
import { useIsNarrow } from '../design/narrow';
import { Empty, Failed, Loading } from '../design/placeholders';
import { stateOf } from '../design/state';
import { StateShape } from '../design/state-shape';
import { Time } from '../design/time';
import { Facets } from './facets';
import { rowsQuery } from './queries';
import { placesOf, placeSentence, placeState, rowColours } from './rows';

const route = getRouteApi('/');
const TYPED_MS = 200;

/** Every application and what of it runs where; trouble first, as many as there are. */
export function Applications({ overview }: { overview: Overview }) {
  const filters = route.useSearch();
  const rows = useInfiniteQuery(rowsQuery(filters));
  const items = rows.data?.pages.flatMap((page) => page.items) ?? [];
  const isNarrowed = Object.keys(filters).length > 0;
  return (
    <section aria-labelledby="applications" className="applications">
      <div className="row wrap">
        <h2 id="applications">
          Applications <span className="count">{overview.applications}</span>
        </h2>
        <Search />
        <Facets facets={overview.facets} />
      </div>
      {rows.error && items.length === 0 ? (
        <Failed error={rows.error} onRetry={() => void rows.refetch()} />
      ) : rows.isPending ? (
        <Loading lines={8} />
      ) : items.length === 0 ? (
        isNarrowed ? (
          <Empty title="No application is like that">Take a filter away, or search for less.</Empty>
        ) : (
          <Empty title="There is no application yet">
            Put a <code>volary.yaml</code> into a repository that the server&apos;s settings name under{' '}
            <code>repositories</code>: it appears here after the next poll.
          </Empty>
        )
      ) : (
        <Table
          items={items}
          places={overview.places}
          onEnd={() => {
            if (rows.hasNextPage && !rows.isFetchingNextPage) void rows.fetchNextPage();
          }}
        />
      )}
    </section>
  );
}

function Search() {
  const { search = '' } = route.useSearch();
  const change = useChangeSearch();
  const [text, setText] = useState(search);
  const sent = useRef(search);
  useEffect(() => {
    // Back, or a link: what the address says then.
    if (search !== sent.current) {
      sent.current = search;
      setText(search);
    }
  }, [search]);
  useEffect(() => {
    if (text === sent.current) return undefined;
    const timer = window.setTimeout(() => {
      sent.current = text;
      change({ search: text }, { replace: true });
    }, TYPED_MS);
    return () => window.clearTimeout(timer);
  }, [text, change]);
  return (
    <input
      type="search"
      data-search
      aria-label="Search applications"
      placeholder="Search  /"
      value={text}
      onChange={(event) => setText(event.target.value)}
      onKeyDown={(event) => {
        if (event.key === 'Escape' && text !== '') {
          event.preventDefault();
          setText('');
        }
      }}
    />
  );
}

const NAME = 240;
const NARROW_NAME = 140;
const PLACE = 116;
const RELEASED = 120;
const HEAD = 32;

function Table({
  items,
  places,
  onEnd,
}: {
  items: readonly ApplicationRow[];
  places: readonly string[];
  onEnd: () => void;
}) {
  const { density } = usePreferences();
  const height = density === 'compact' ? 28 : 36;
  const scroller = useRef<HTMLDivElement>(null);
  const { items: shown, hold } = useHeldOrder(items, nameOf);
  const rows = useVirtualizer({
    count: shown.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => height,
    overscan: 10,
    scrollPaddingStart: HEAD,
    initialRect: { width: 1200, height: 600 },
    onChange: (instance) => {
      if ((instance.getVirtualItems().at(-1)?.index ?? 0) >= items.length - 40) onEnd();
    },
  });
  useEffect(() => rows.measure(), [rows, height]);
  const name = useIsNarrow() ? NARROW_NAME : NAME;
  const columns = `minmax(${name}px, 1.4fr) repeat(${places.length}, minmax(${PLACE}px, 1fr)) ${RELEASED}px`;
  const width = name + places.length * PLACE + RELEASED;
  return (
    <div
      ref={scroller}
      className="panel app-table"
      // Scrolls by keyboard, so it takes the focus.
      // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
      tabIndex={0}
      role="region"
      aria-label="Applications and what runs where"
      {...hold}
    >
      <div role="table" aria-label="Applications" aria-rowcount={shown.length + 1} style={{ minWidth: width }}>
        <div role="row" aria-rowindex={1} className="app-head" style={{ gridTemplateColumns: columns, height: HEAD }}>
          <span role="columnheader" className="app-name">
            Application
          </span>
          {places.map((place) => (
            <span role="columnheader" key={place} className="truncate" title={place}>
              {place}
            </span>
          ))}
          <span role="columnheader">Last release</span>
        </div>
        <div role="rowgroup" style={{ height: rows.getTotalSize(), position: 'relative' }}>
          {rows.getVirtualItems().map((at) => {
            const row = shown[at.index];
            return (
              row && (
                <div
                  role="row"
                  key={row.name}
                  aria-rowindex={at.index + 2}
                  className="app-row"
                  style={{ gridTemplateColumns: columns, height: at.size, transform: `translateY(${at.start}px)` }}
                >
                  <Row row={row} places={places} />
                </div>
              )
            );
          })}
        </div>
      </div>
    </div>
  );
}

function nameOf(row: ApplicationRow): string {
  return row.name;
}

function Row({ row, places }: { row: ApplicationRow; places: readonly string[] }) {
  const there = placesOf(row);
  const colours = rowColours(row);
  // As the run looks wherever else it is told of.
  const status = row.runStatus || row.status;
  return (
    <>
      <span role="rowheader" className="app-name row">
        <StateShape status={status} label={stateOf(status).word} />
        <Link
          to="/applications/$application"
          params={{ application: row.name }}
          className="truncate app-link"
          title={row.reason || row.name}
        >
          {row.name}
        </Link>
      </span>
      {places.map((name) => {
        const place = there.get(name);
        return (
          <span role="cell" key={name} className="row app-place">
            {place ? <Place place={place} colours={colours} /> : <span className="muted">–<span className="spoken"> not there</span></span>}
          </span>
        );
      })}
      <span role="cell" className="muted small">
        <Time at={row.released} as="calendar" none="never" />
      </span>
    </>
  );
}

function Place({ place, colours }: { place: PlaceCommit; colours: Map<string, number> }) {
  const [first = '', ...others] = place.commits;
  const state = placeState(place);
  return (
    <span className="row app-commits" title={placeSentence(place)}>
      <Commit commit={first} colour={colours.get(first)} />
      {others.length > 0 && (
        <code className={`commit commit-${colours.get(others[0] ?? '') ?? 1}`}>+{others.length}</code>
      )}
      {state && <StateShape status={state} label={stateOf(state).word} />}
      <span className="spoken">{placeSentence(place)}</span>
    </span>
  );
}
