import { useInfiniteQuery } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import { useDeferredValue } from 'react';

import { get, type Page } from '../api/client';
import type { RunSummary } from '../api/types';
import { Button } from '../design/button';
import { Commit } from '../design/commit';
import { asServerTime } from '../design/now';
import { Empty, Failed, Loading } from '../design/placeholders';
import { StateWord } from '../design/state-shape';
import { Elapsed, Time } from '../design/time';
import { useHeldOrder } from '../design/held-order';
import { FilterField } from './filter-field';

const PAGE = 50;
const AGAIN_MS = 10_000;

/** The runs, the newest first. */
export function RunList() {
  const search = useSearch({ from: '/activity' });
  const wanted = useDeferredValue({
    application: search.application ?? '',
    by: search.by ?? '',
    cluster: search.cluster ?? '',
  });
  const runs = useInfiniteQuery({
    queryKey: ['/runs', 'list', wanted],
    queryFn: ({ pageParam, signal }) =>
      get<Page<RunSummary>>('/runs', { ...wanted, cursor: pageParam, limit: PAGE }, signal),
    initialPageParam: '',
    getNextPageParam: (last) => last.cursor || undefined,
    refetchInterval: AGAIN_MS,
  });
  const loaded = runs.data?.pages.flatMap((page) => page.items) ?? [];
  const { items, hold } = useHeldOrder(loaded, (run) => run.id);
  return (
    <div className="stack">
      <div className="row wrap filters activity-filters">
        <FilterField name="application" title="Application" known={loaded.map((run) => run.application)} isSearch />
        <FilterField name="by" title="Person" known={loaded.map((run) => run.by)} />
        <FilterField name="cluster" title="Cluster" known={loaded.flatMap((run) => run.targets)} />
        <span className="grow" />
        <span className="muted small">
          observed <Time at={asServerTime(runs.dataUpdatedAt)} />
        </span>
      </div>
      {runs.isPending && <Loading lines={8} />}
      {runs.isError && <Failed error={runs.error} onRetry={() => void runs.refetch()} />}
      {runs.data && items.length === 0 && (
        <Empty title={Object.values(wanted).some(Boolean) ? 'No run is like that' : 'There was no run yet'}>
          A push begins one, and so does <code>volary sync APPLICATION</code>.
        </Empty>
      )}
      <ul {...hold}>
        {items.map((run) => (
          <li key={run.id} className="activity-entry activity-run">
            <StateWord status={run.status} />
            <Link to="/applications/$application" params={{ application: run.application }}>
              {run.application}
            </Link>
            <Commit commit={run.commit} />
            <span className="grow breakable">
              <Link to="/runs/$run" params={{ run: run.id }}>
                {run.subject || run.id}
              </Link>{' '}
              <span className="muted">{run.reason}</span>
            </span>
            <span className="muted">{run.by || run.trigger}</span>
            <span className="muted">
              <Elapsed from={run.started} until={run.finished} />
            </span>
            <span className="activity-time">
              <Time at={run.started ?? run.created} />
            </span>
          </li>
        ))}
      </ul>
      {runs.hasNextPage && (
        <div>
          <Button
            onClick={() => void runs.fetchNextPage()}
            disabledReason={runs.isFetchingNextPage ? 'it is being read' : undefined}
          >
            Show older
          </Button>
        </div>
      )}
    </div>
  );
}
