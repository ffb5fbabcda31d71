import { useQuery } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import { useState } from 'react';

import type { Page } from '../api/client';
import { segment } from '../api/client';
import { reading } from '../api/queries';
import type { Action, Application, Commit as KnownCommit, RunSummary } from '../api/types';
import { ActionDialog } from '../app/actions';
import { useChangeSearch } from '../app/search-params';
import { Button } from '../design/button';
import { Commit, commitColours } from '../design/commit';
import { useNow } from '../design/now';
import { Empty, Failed, Loading } from '../design/placeholders';
import { StateWord } from '../design/state-shape';
import { Elapsed, Time } from '../design/time';
import { StripChart } from './strip-chart';
import { mergeHistory, rollbackTo, stripsOf, type HistoryEntry } from './version-strip';

const MOST_RUNS = 200;
const AGAIN_MS = 15_000;
/** Strips move on by the minute: nothing jumps from second to second. */
const MINUTE_MS = 60_000;

/** Versions over time in each cluster, and each run with the way back to it. */
export function HistoryView({
  application,
  actions,
}: {
  application: Application;
  actions: readonly Action[];
}) {
  const search = useSearch({ from: '/applications/$application' });
  const change = useChangeSearch();
  const now = Math.floor(useNow() / MINUTE_MS) * MINUTE_MS + MINUTE_MS;
  const path = `/applications/${segment(application.name)}`;
  const runs = useQuery({
    ...reading<Page<RunSummary>>('/runs', { application: application.name, limit: MOST_RUNS }),
    refetchInterval: AGAIN_MS,
  });
  const commits = useQuery({
    ...reading<Page<KnownCommit>>(`${path}/commits`, { limit: MOST_RUNS }),
    refetchInterval: AGAIN_MS,
  });
  if (runs.isPending) return <Loading lines={6} />;
  if (runs.isLoadingError) return <Failed error={runs.error} onRetry={() => void runs.refetch()} />;
  const { items } = runs.data;
  const entries = mergeHistory(items, commits.data?.items ?? [], runs.data.cursor === '');
  if (entries.length === 0)
    return (
      <Empty title="It has no history yet">
        A push to {application.branch || 'its branch'} begins a run, and so does{' '}
        <code>volary sync {application.name}</code>.
      </Empty>
    );
  // As above the tabs: what Git says, then what runs, then what ran.
  const colours = commitColours([application.head, application.runningCommit, ...items.map((run) => run.commit)]);
  const chosen = search.commit ?? '';
  const choose = (commit: string) => change({ commit: commit === chosen ? '' : commit }, { replace: true });
  return (
    <div className="stack">
      <StripChart strips={stripsOf(items, now)} colours={colours} chosen={chosen} onChoose={choose} now={now} />
      <ol className="history">
        {entries.map((entry) => (
          <Entry
            key={entry.key}
            entry={entry}
            colour={colours.get(entry.commit)}
            isChosen={entry.commit === chosen}
            rollback={rollbackTo(entry, application, actions)}
          />
        ))}
      </ol>
      {runs.data.cursor && <p className="muted">{`The last ${items.length} runs are shown.`}</p>}
    </div>
  );
}

function Entry({
  entry,
  colour,
  isChosen,
  rollback,
}: {
  entry: HistoryEntry;
  colour: number | undefined;
  isChosen: boolean;
  rollback: Action | null;
}) {
  const [isAsked, setAsked] = useState(false);
  const { run } = entry;
  return (
    <li className={isChosen ? 'history-entry history-chosen' : 'history-entry'}>
      <StateWord status={entry.status} />
      <Commit commit={entry.commit} colour={colour} />
      <span className="grow breakable">
        {run ? (
          <Link to="/runs/$run" params={{ run: run.id }}>
            {entry.subject || run.id}
          </Link>
        ) : (
          entry.subject
        )}
        {entry.reason && <span className="muted"> {entry.reason}</span>}
      </span>
      <span className="muted breakable">{entry.by}</span>
      <span className="muted">
        {run?.started && <Elapsed from={run.started} until={run.finished} />}
      </span>
      <Time at={entry.at} />
      {rollback ? (
        <Button
          disabledReason={rollback.enabled ? undefined : rollback.disabledReason || 'not possible now'}
          aria-label={`Roll back to it: ${entry.commit.slice(0, 7)}`}
          onClick={() => setAsked(true)}
        >
          Roll back to it
        </Button>
      ) : (
        <span />
      )}
      {isAsked && rollback && <ActionDialog action={rollback} onClose={() => setAsked(false)} />}
    </li>
  );
}
