import { useSearch } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';

import { address, segment } from '../api/client';
import type { LiveNode } from '../api/types';
import { useChangeSearch } from '../app/search-params';
import { useStream } from '../app/use-stream';
import { Button } from '../design/button';
import { appendLines, EMPTY, type Log } from './log-model';

/** How near to its end a log counts as followed, in pixels. */
const NEAR = 24;

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

function FollowedLog({ url }: { url: string }) {
  const [log, setLog] = useState<Log>(EMPTY);
  useStream(url, (events) => setLog((known) => appendLines(known, events)));
  return <LogLines log={log} />;
}

/** Lines that stay where they are once somebody scrolls up, and say how many are new. */
export function LogLines({ log }: { log: Log }) {
  const scroller = useRef<HTMLDivElement>(null);
  const [seen, setSeen] = useState<number | null>(null);
  const total = log.dropped + log.lines.length;
  useEffect(() => {
    const element = scroller.current;
    if (element && seen === null) element.scrollTop = element.scrollHeight;
  }, [total, seen]);
  const look = () => {
    const element = scroller.current;
    if (!element) return;
    const isNear = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR;
    setSeen(isNear ? null : (known) => known ?? total);
  };
  const fresh = seen === null ? 0 : total - seen;
  return (
    <div className="log-frame">
      {/* Scrolls by keyboard. A log is read line by line only where somebody asks for it. */}
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <div ref={scroller} className="log" tabIndex={0} role="log" aria-live="off" aria-label="Log" onScroll={look}>
        {log.dropped > 0 && <div className="muted">{`${log.dropped} earlier lines are not kept here`}</div>}
        {log.lines.map((line) => (
          <div key={line.number} className="log-line">
            {line.text}
          </div>
        ))}
        {log.lines.length === 0 && <div className="muted">{log.ended || 'No line yet'}</div>}
        {log.lines.length > 0 && log.ended && <div className="muted">{log.ended}</div>}
      </div>
      {fresh > 0 && (
        <Button className="log-fresh" onClick={() => setSeen(null)}>
          {fresh === 1 ? '1 new line' : `${fresh} new lines`}
        </Button>
      )}
    </div>
  );
}
