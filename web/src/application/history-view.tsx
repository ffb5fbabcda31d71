import { useInfiniteQuery } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import { useMemo, useState } from 'react';

import type { Page } from '../api/client';
import { get, segment } from '../api/client';
import type { Application, HistoryEntry } from '../api/types';
import { ActionDialog } from '../app/actions';
import { useChangeSearch } from '../app/search-params';
import { useChanges } from '../app/use-changes';
import { Button } from '../design/button';
import { Commit, commitColours, shortCommit } from '../design/commit';
import { useNow } from '../design/now';
import { Empty, Failed, Loading } from '../design/placeholders';
import { StateWord } from '../design/state-shape';
import { Elapsed, Time } from '../design/time';
import { RollbackPreview } from './rollback-preview';
import { StripChart } from './strip-chart';
import { stripsOf } from './version-strip';

const PAGE = 50;
/** Strips move on by the minute: nothing jumps from second to second. */
const MINUTE_MS = 60_000;

/** Versions over time in each cluster, and each run with the way back to it. */
export function HistoryView({ application }: { application: Application }) {
  const search = useSearch({ from: '/applications/$application' });
  const change = useChangeSearch();
  const now = Math.floor(useNow() / MINUTE_MS) * MINUTE_MS + MINUTE_MS;
  const path = `/applications/${segment(application.name)}/history`;
  const history = useInfiniteQuery({
    queryKey: [path],
    queryFn: ({ pageParam, signal }) =>
      get<Page<HistoryEntry>>(path, { cursor: pageParam, limit: PAGE }, signal),
    initialPageParam: '',
    getNextPageParam: (last) => last.cursor || undefined,
  });
  useChanges([[path]], application.name);
  const entries = useMemo(() => history.data?.pages.flatMap((page) => page.items) ?? [], [history.data]);
  const strips = useMemo(() => stripsOf(entries, now), [entries, now]);
  if (history.isPending) return <Loading lines={6} />;
  if (history.isLoadingError) return <Failed error={history.error} onRetry={() => void history.refetch()} />;
  if (entries.length === 0)
    return (
      <Empty title="It has no history yet">
        A push to {application.branch || 'its branch'} begins a run, and so does{' '}
        <code>volary sync {application.name}</code>.
      </Empty>
    );
  // As above the tabs: what Git says, then what runs, then what ran.
  const colours = commitColours([application.head, application.runningCommit, ...entries.map((entry) => entry.commit)]);
  const chosen = search.commit ?? '';
  const choose = (commit: string) => change({ commit: commit === chosen ? '' : commit }, { replace: true });
  return (
    <div className="stack">
      {history.error && (
        <p className="small muted" role="status">{`This may be old: ${history.error.message}`}</p>
      )}
      <StripChart strips={strips} colours={colours} chosen={chosen} onChoose={choose} now={now} />
      <ol className="history">
        {entries.map((entry) => (
          <Entry
            key={entry.run || `${entry.commit} ${entry.at}`}
            entry={entry}
            colour={colours.get(entry.commit)}
            isChosen={entry.commit === chosen}
          />
        ))}
      </ol>
      {history.hasNextPage && (
        <div>
          <Button
            onClick={() => void history.fetchNextPage()}
            disabledReason={history.isFetchingNextPage ? 'it is being read' : undefined}
          >
            Show older
          </Button>
        </div>
      )}
    </div>
  );
}

function Entry({
  entry,
  colour,
  isChosen,
}: {
  entry: HistoryEntry;
  colour: number | undefined;
  isChosen: boolean;
}) {
  const [asked, setAsked] = useState<HistoryEntry['rollback']>(null);
  const { rollback } = entry;
  return (
    <li className={isChosen ? 'history-entry history-chosen' : 'history-entry'}>
      <StateWord status={entry.status} />
      <Commit commit={entry.commit} colour={colour} />
      <span className="grow breakable history-subject">
        {entry.run ? (
          <Link to="/runs/$run" params={{ run: entry.run }}>
            {entry.subject || entry.run}
          </Link>
        ) : (
          entry.subject
        )}
        {entry.reason && <span className="muted"> {entry.reason}</span>}
      </span>
      <span className="muted breakable" title={entry.by || entry.trigger}>
        {nameOf(entry.by) || entry.trigger}
      </span>
      <span className="muted">{entry.started && <Elapsed from={entry.started} until={entry.finished} />}</span>
      <Time at={entry.at} />
      {rollback ? (
        <Button
          disabledReason={rollback.enabled ? undefined : rollback.disabledReason || 'not possible now'}
          aria-label={`Roll back to it: ${shortCommit(entry.commit)}`}
          data-verb={rollback.verb}
          onClick={() => setAsked(rollback)}
        >
          Roll back to it
        </Button>
      ) : (
        <span />
      )}
      {asked && (
        <ActionDialog action={asked} now={rollback} onClose={() => setAsked(null)}>
          <RollbackPreview action={asked} />
        </ActionDialog>
      )}
    </li>
  );
}

/** Who wrote a commit, without their address: `Ana <ana@example.com>`. */
function nameOf(person: string): string {
  return person.replace(/\s*<[^<>]*>$/, '') || person;
}
