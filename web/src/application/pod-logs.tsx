import { useSearch } from '@tanstack/react-router';
import { useState } from 'react';

import { address, segment } from '../api/client';
import type { LiveNode } from '../api/types';
import { useChangeSearch } from '../app/search-params';
import { useStream } from '../app/use-stream';
import { addLines, NO_LINES, type LogEntry, type LogState } from '../run/log-lines';
import { LogLines } from '../run/log-view';

/** The log of one container, followed from its last lines on. */
export function PodLogs({
  application,
  cluster,
  pods,
  containers,
}: {
  application: string;
  cluster: string;
  pods: readonly LiveNode[];
  /** Of the pod that is looked at; empty: the cluster chooses. */
  containers: readonly string[];
}) {
  const search = useSearch({ from: '/applications/$application' });
  const change = useChangeSearch();
  const [isPrevious, setPrevious] = useState(false);
  const pod = pods.find((each) => each.name === search.pod) ?? pods[0];
  if (!pod) return <p className="muted">It has no pod.</p>;
  const container = search.container ?? '';
  const url = address(
    `/applications/${segment(application)}/clusters/${segment(cluster)}/logs/stream`,
    { namespace: pod.namespace, pod: pod.name, container, previous: isPrevious ? true : undefined },
  );
  return (
    <div className="stack">
      <div className="row wrap">
        <label className="row">
          <span>Pod</span>
          <select
            value={pod.name}
            onChange={(event) => change({ pod: event.target.value, container: '' }, { replace: true })}
          >
            {pods.map((each) => (
              <option key={each.uid} value={each.name}>
                {each.name}
              </option>
            ))}
          </select>
        </label>
        {containers.length > 1 && (
          <label className="row">
            <span>Container</span>
            <select
              value={container}
              onChange={(event) => change({ container: event.target.value }, { replace: true })}
            >
              <option value="">as the pod says</option>
              {containers.map((each) => (
                <option key={each}>{each}</option>
              ))}
            </select>
          </label>
        )}
        {pod.restarts > 0 && (
          <label className="row">
            <input type="checkbox" checked={isPrevious} onChange={(event) => setPrevious(event.target.checked)} />
            <span>before the last restart</span>
          </label>
        )}
      </div>
      <FollowedLog key={url} url={url} />
    </div>
  );
}

/** A line as the server sends it. */
interface PodLine {
  position: number;
  at: string | null;
  text: string;
}

function FollowedLog({ url }: { url: string }) {
  const [log, setLog] = useState<LogState>(NO_LINES);
  const [ended, setEnded] = useState('');
  useStream(url, (events) => {
    const of = (kind: string) => events.filter((event) => event.event === kind);
    const lines = of('line').map((event) => entryOf(JSON.parse(event.data) as PodLine));
    const [end] = of('end').map((event) => JSON.parse(event.data) as { reason: string });
    if (end) setEnded(end.reason);
    setLog((known) => ({ ...addLines(known, lines), ended: known.ended || end !== undefined }));
  });
  return (
    <>
      <LogLines state={log} />
      {ended && <p className="muted small">{ended}</p>}
    </>
  );
}

/** What a container writes has no level, and belongs to no stage. */
function entryOf({ position, at, text }: PodLine): LogEntry {
  return { position, at: at ?? '', text, level: '', stage: '', target: '', attempt: 0 };
}
