/* eslint-disable jsx-a11y/no-noninteractive-tabindex, jsx-a11y/no-noninteractive-element-interactions --
   a log scrolls by keyboard, so it takes the focus, and scrolling up ends following it */
import { useVirtualizer } from '@tanstack/react-virtual';
import { useCallback, useEffect, useRef, useState } from 'react';

import { address } from '../api/client';
import type { StreamEvent } from '../api/stream-parser';
import { useStream } from '../app/use-stream';
import { Button } from '../design/button';
import { exact, parsed } from '../design/clock';
import { addLines, NO_LINES, type LogEntry, type LogState } from './log-lines';
import { runPath } from './use-run';
import './log-view.css';

/** The log of one task, live: it follows until somebody scrolls up, and says what is new then. */
export function LogView({ run, stage, cluster }: { run: string; stage: string; cluster: string }) {
  const [state, setState] = useState<LogState>(NO_LINES);
  const take = useCallback((events: StreamEvent[]) => {
    const lines = events.filter((event) => event.event === 'line').map((event) => JSON.parse(event.data) as LogEntry);
    const ended = events.some((event) => event.event === 'end');
    setState((before) => ({ ...addLines(before, lines), ended: before.ended || ended }));
  }, []);
  useStream(address(`${runPath(run)}/logs/stream`, { stage, cluster }), take);
  return <LogLines state={state} />;
}

export function LogLines({ state }: { state: LogState }) {
  const scroller = useRef<HTMLDivElement>(null);
  const [follows, setFollows] = useState(true);
  const [seen, setSeen] = useState(0);
  const total = state.dropped + state.lines.length;
  const rows = useVirtualizer({
    count: state.lines.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => 20,
    overscan: 20,
    getItemKey: (index) => state.lines[index]?.position ?? index,
    initialRect: { width: 500, height: 400 },
  });
  useEffect(() => {
    if (!follows) return;
    setSeen(total);
    if (state.lines.length > 0) rows.scrollToIndex(state.lines.length - 1, { align: 'end' });
  }, [follows, total, rows, state.lines.length]);
  const unseen = total - seen;
  return (
    <div className="log">
      <div className="row log-bar">
        <Button kind="quiet" aria-pressed={follows} onClick={() => setFollows(!follows)}>
          {follows ? 'Pause' : 'Follow'}
        </Button>
        {!follows && unseen > 0 && (
          <Button kind="quiet" onClick={() => setFollows(true)}>
            {unseen} new lines ↓
          </Button>
        )}
        <span className="grow" />
        <span className="muted small">
          {total} lines{state.dropped > 0 && `, the last ${state.lines.length} are here`}
          {state.ended && ', complete'}
        </span>
      </div>
      {state.lines.length === 0 && (
        <p className="muted log-none">{state.ended ? 'It said nothing.' : 'Nothing was said yet.'}</p>
      )}
      <div
        ref={scroller}
        className="log-lines"
        role="log"
        aria-label="Log"
        aria-live="off"
        tabIndex={0}
        data-own-keys
        onWheel={(event) => {
          if (event.deltaY < 0) setFollows(false);
        }}
        onScroll={(event) => {
          const { scrollTop, scrollHeight, clientHeight } = event.currentTarget;
          if (scrollHeight - scrollTop - clientHeight < 4) setFollows(true);
        }}
        onKeyDown={(event) => {
          if (['ArrowUp', 'PageUp', 'Home'].includes(event.key)) setFollows(false);
        }}
      >
        <div style={{ height: rows.getTotalSize(), position: 'relative' }}>
          {rows.getVirtualItems().map((at) => {
            const line = state.lines[at.index];
            return (
              line && (
                <div
                  key={at.key}
                  ref={rows.measureElement}
                  data-index={at.index}
                  className={`log-line log-${line.level}`}
                  style={{ transform: `translateY(${at.start}px)` }}
                >
                  <span className="log-at" title={exact(parsed(line.at) ?? 0)}>
                    {clockOf(line.at)}
                  </span>
                  <span className="log-text">{line.text}</span>
                </div>
              )
            );
          })}
        </div>
      </div>
    </div>
  );
}

function clockOf(at: string): string {
  const then = parsed(at);
  return then === null ? '' : exact(then).slice(11, 19);
}
