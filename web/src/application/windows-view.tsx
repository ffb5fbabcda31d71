import { useQuery } from '@tanstack/react-query';

import { reading } from '../api/queries';
import type { Calendar, ClosedWindow } from '../api/types';
import { parsed } from '../design/clock';
import { Note } from '../design/note';
import { Empty, Failed, Loading } from '../design/placeholders';
import { StateWord } from '../design/state-shape';
import { Time } from '../design/time';

const DAYS = 30;
const AGAIN_MS = 60_000;

/** When nothing begins, and where. */
export function WindowsView({ application }: { application: string }) {
  const calendar = useQuery({
    ...reading<Calendar>('/calendar', { application, days: DAYS }),
    refetchInterval: AGAIN_MS,
  });
  if (calendar.isPending) return <Loading lines={4} />;
  if (calendar.isLoadingError) return <Failed error={calendar.error} onRetry={() => void calendar.refetch()} />;
  const { data, error } = calendar;
  const isWhole = data.unread.length === 0 && data.pending === 0;
  const isOld = error && (
    <p className="small muted" role="status">
      {`This may be old: ${error.message}; read `}
      <Time at={new Date(calendar.dataUpdatedAt).toISOString()} />
    </p>
  );
  if (data.items.length === 0 && isWhole)
    return (
      <>
        {isOld}
        <Empty title={`Nothing is closed in the next ${DAYS} days`}>
          <code>freezes</code> and <code>windows</code> of a wave say when nothing begins there.
        </Empty>
      </>
    );
  return (
    <div className="stack">
      {isOld}
      {data.unread.map((file) => (
        <Note key={file.application}>{`The windows of ${file.application} are not known: ${file.reason}`}</Note>
      ))}
      {data.pending > 0 && <Note>The file is still being read; its windows are not known yet.</Note>}
      <ul className="windows">
        {data.items.map((window, index) => (
          <WindowRow key={`${index} ${window.starts}`} window={window} calendar={data} />
        ))}
      </ul>
      {data.omitted > 0 && <p className="muted">{`${data.omitted} windows more are not shown`}</p>}
    </div>
  );
}

function WindowRow({ window, calendar }: { window: ClosedWindow; calendar: Calendar }) {
  const since = parsed(calendar.since) ?? 0;
  const until = parsed(calendar.until) ?? 1;
  const share = (at: number) => Math.min(1, Math.max(0, (at - since) / Math.max(1, until - since)));
  const start = share(parsed(window.starts) ?? since);
  const end = share(parsed(window.ends) ?? until);
  const isNow = start === 0 && end > 0;
  return (
    <li className="window">
      <div className="row wrap">
        <StateWord status={isNow ? 'waiting' : 'pending'} word={isNow ? 'closed now' : 'will be closed'} />
        <span>{window.wave || 'every wave'}</span>
        <span className="muted breakable">
          {window.clusters.length > 0 ? window.clusters.join(', ') : 'every cluster'}
        </span>
        <span className="grow breakable">{window.reason}</span>
        <span>
          <Time at={window.starts} /> to <Time at={window.ends} none="nobody says when" />
        </span>
      </div>
      <svg className="window-line" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
        <rect width="100" height="4" className="window-open" />
        <rect x={100 * start} width={Math.max(0.4, 100 * (end - start))} height="4" className="window-closed" />
      </svg>
    </li>
  );
}
