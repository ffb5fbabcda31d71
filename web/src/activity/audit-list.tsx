import { useInfiniteQuery } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import { useDeferredValue } from 'react';

import { get, Problem, type Page } from '../api/client';
import type { AuditEntry } from '../api/types';
import { useChangeSearch } from '../app/search-params';
import { Button } from '../design/button';
import { asServerTime } from '../design/now';
import { Empty, Failed, Loading } from '../design/placeholders';
import { StateShape } from '../design/state-shape';
import { Time } from '../design/time';
import {
  byDay,
  changesOf,
  clusterOf,
  describeEntry,
  describeFilter,
  nameDay,
  reasonOf,
  writeValue,
} from './activity-model';
import { FilterField } from './filter-field';

const PAGE = 100;
const STATUS: Readonly<Record<string, string>> = { ok: 'succeeded', denied: 'skipped', failed: 'failed' };
const WORDS: Readonly<Record<string, string>> = { ok: 'done', denied: 'not allowed', failed: 'failed' };

/** The audit, the newest first; a line opens what was asked for and what that changed. */
export function AuditList() {
  const search = useSearch({ from: '/activity' });
  const change = useChangeSearch();
  const asked = useDeferredValue({
    by: search.by ?? '',
    application: search.application ?? '',
    cluster: search.cluster ?? '',
    action: search.action ?? '',
  });
  const audit = useInfiniteQuery({
    queryKey: ['/audit', asked],
    queryFn: ({ pageParam, signal }) =>
      get<Page<AuditEntry>>('/audit', { ...asked, cursor: pageParam, limit: PAGE }, signal),
    initialPageParam: '',
    getNextPageParam: (last) => last.cursor || undefined,
  });
  const entries = audit.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <div className="stack">
      <div className="row wrap filters activity-filters">
        <FilterField name="by" title="Person" known={entries.map((entry) => entry.by)} isSearch />
        <FilterField name="application" title="Application" known={entries.map((entry) => entry.application)} />
        <FilterField name="cluster" title="Cluster" known={entries.map(clusterOf)} />
        <FilterField name="action" title="Action" known={entries.map((entry) => entry.action)} />
        <span className="grow" />
        <span className="muted small">
          observed <Time at={asServerTime(audit.dataUpdatedAt)} />
        </span>
        <Button onClick={() => void audit.refetch()}>Read again</Button>
      </div>
      {audit.isPending && <Loading lines={8} />}
      {audit.isError && <Refused error={audit.error} onRetry={() => void audit.refetch()} />}
      {audit.data && entries.length === 0 && (
        <Empty title={`Nobody did anything${describeFilter(search)}`}>
          Every command is written down here, also one that was refused:{' '}
          <code>volary pause shop --reason &quot;…&quot;</code> is one.
        </Empty>
      )}
      {byDay(entries, (entry) => entry.at, nameDay).map(([day, of]) => (
        <section key={day} aria-label={day}>
          <h2>{day}</h2>
          <ul>
            {of.map((entry) => (
              <EntryLine
                key={entry.position}
                entry={entry}
                isOpen={search.entry === String(entry.position)}
                onToggle={(isOpen) => change({ entry: isOpen ? String(entry.position) : '' }, { replace: true })}
              />
            ))}
          </ul>
        </section>
      ))}
      {audit.hasNextPage && (
        <div>
          <Button
            onClick={() => void audit.fetchNextPage()}
            disabledReason={audit.isFetchingNextPage ? 'it is being read' : undefined}
          >
            Show older
          </Button>
        </div>
      )}
    </div>
  );
}

function Refused({ error, onRetry }: { error: Error; onRetry: () => void }) {
  if (error instanceof Problem && error.status === 403)
    return (
      <Empty title="You may not read the audit">
        It is for whoever administers. Runs, and what happens now, are in the tabs beside it. ({error.message})
      </Empty>
    );
  return <Failed error={error} onRetry={onRetry} />;
}

function EntryLine({
  entry,
  isOpen,
  onToggle,
}: {
  entry: AuditEntry;
  isOpen: boolean;
  onToggle: (isOpen: boolean) => void;
}) {
  const reason = reasonOf(entry);
  return (
    <li className="activity-entry">
      <button type="button" className="activity-line" aria-expanded={isOpen} onClick={() => onToggle(!isOpen)}>
        <StateShape status={STATUS[entry.result] ?? 'unknown'} label={WORDS[entry.result] ?? entry.result} />
        <span className="grow breakable">
          {describeEntry(entry)}
          {reason && <span className="muted">{` — ${reason}`}</span>}
        </span>
        <span className="muted small breakable">{entry.source ? `from ${entry.source}` : ''}</span>
        <span className="activity-time">
          <Time at={entry.at} />
        </span>
      </button>
      {isOpen && <EntryDetails entry={entry} />}
    </li>
  );
}

function EntryDetails({ entry }: { entry: AuditEntry }) {
  const changes = changesOf(entry);
  const asked = Object.entries(entry.document).filter(([, value]) => writeValue(value) !== '');
  return (
    <div className="activity-details stack">
      <div className="row wrap">
        {entry.application && (
          <Link to="/applications/$application" params={{ application: entry.application }}>
            {entry.application}
          </Link>
        )}
        {entry.run && (
          <Link to="/runs/$run" params={{ run: entry.run }}>
            The run
          </Link>
        )}
        {clusterOf(entry) && (
          <Link to="/fleet" search={{ cluster: clusterOf(entry) }}>
            {clusterOf(entry)}
          </Link>
        )}
        <code>{entry.action}</code>
        <span className="muted">{`number ${entry.position}`}</span>
      </div>
      {changes.length > 0 && (
        <table className="activity-changes">
          <thead>
            <tr>
              <th scope="col">What</th>
              <th scope="col">Before</th>
              <th scope="col">After</th>
            </tr>
          </thead>
          <tbody>
            {changes.map((each) => (
              <tr key={each.name}>
                <th scope="row">{each.name}</th>
                <td>{each.before || '–'}</td>
                <td>{each.after || '–'}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {asked.length > 0 && (
        <dl className="activity-asked">
          {asked.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{writeValue(value)}</dd>
            </div>
          ))}
        </dl>
      )}
    </div>
  );
}
