import { useEffect, useId, useRef, useState } from 'react';

import type { Run } from '../api/types';
import { duration, exact } from '../design/clock';
import { useNow } from '../design/now';
import { stateOf } from '../design/state';
import { MarkDetails, MarkLane, useMarks } from './time-marks';
import { timeLine } from './timeline-model';
import './time-line.css';

const LABEL = 170;
const WIDTH = 1000;
const BAR = 16;

/** The run over time; the matrix shows the moment that is pointed at. */
export function TimeLineView({ run, at, onAt }: { run: Run; at: number | null; onAt: (at: number | null) => void }) {
  const now = useNow();
  const line = timeLine(run, now);
  const id = useId();
  const frame = useRef<HTMLDivElement>(null);
  const bars = line?.bars.length ?? 0;
  const { groups, omitted, error } = useMarks(run.summary.id, line, run.summary.finished === null);
  // By its time: it is found again when others come, or lie closer together.
  const [chosen, setChosen] = useState<number | null>(null);
  const group = (chosen !== null && groups.filter(({ at: then }) => then <= chosen).at(-1)) || groups.at(-1);
  useEffect(() => {
    // What goes on now is at the end.
    if (frame.current) frame.current.scrollTop = frame.current.scrollHeight;
  }, [bars]);
  if (!line || line.bars.length === 0) return null;
  const span = line.until - line.from;
  const place = (time: number) => Math.min(100, Math.max(0, ((time - line.from) / span) * 100));
  const height = line.bars.length * BAR;
  return (
    <section aria-labelledby={id} className="time-line">
      <div className="row">
        <h2 id={id}>Time line</h2>
        <span className="muted small">{duration(span / 1000)}</span>
        <span className="grow" />
        <label className="row small">
          <span className="muted">{at === null ? 'now' : exact(at)}</span>
          <input
            type="range"
            aria-label="Show the matrix as it was"
            aria-valuetext={at === null ? 'now' : exact(at)}
            min={0}
            max={WIDTH}
            value={at === null ? WIDTH : Math.round(((at - line.from) / span) * WIDTH)}
            onChange={(event) => {
              const share = Number(event.target.value) / WIDTH;
              onAt(share >= 1 ? null : line.from + share * span);
            }}
          />
        </label>
      </div>
      <div
        ref={frame}
        className="time-line-frame panel"
        data-own-keys
        // Scrolls by keyboard, so it takes the focus.
        // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
        role="region"
        aria-label="Stages over time"
      >
        {groups.length > 0 && (
          <div className="mark-row">
            <span className="time-line-labels truncate" style={{ width: LABEL }} aria-hidden="true">
              What happened
            </span>
            <MarkLane
              groups={groups}
              chosen={group ? groups.indexOf(group) : -1}
              onChoose={(index) => setChosen(groups[index]?.at ?? null)}
            />
          </div>
        )}
        <div className="time-line-rows">
          <ul className="time-line-labels" style={{ width: LABEL }}>
            {line.bars.map((bar) => (
              <li key={bar.id} className="truncate" title={bar.label} style={{ height: BAR }}>
                {bar.label}
                <span className="spoken">
                  {' '}
                  {stateOf(bar.status).word}, {duration((bar.until - bar.from) / 1000)}
                </span>
              </li>
            ))}
          </ul>
          {/* The slider does the same by keyboard. */}
          <div
            className="time-line-bars"
            aria-hidden="true"
            onPointerMove={(event) => {
              const box = event.currentTarget.getBoundingClientRect();
              onAt(line.from + (Math.min(box.width, Math.max(0, event.clientX - box.left)) / box.width) * span);
            }}
            onPointerLeave={() => onAt(null)}
          >
            <svg width="100%" height={height}>
              {line.bars.map((bar, index) => (
                <g key={bar.id}>
                  <rect
                    className={`time-bar bar-${stateOf(bar.status).tone}`}
                    x={`${place(bar.from)}%`}
                    y={index * BAR + 3}
                    width={`${Math.max(0.3, place(bar.until) - place(bar.from))}%`}
                    height={BAR - 6}
                    rx="2"
                  />
                  {bar.ends.slice(0, 200).map((end, number) => (
                    <rect
                      key={number}
                      className={`time-end end-${stateOf(end.status).tone}`}
                      x={`${place(end.at)}%`}
                      y={index * BAR + 3}
                      width="1"
                      height={BAR - 6}
                    />
                  ))}
                </g>
              ))}
              {groups.map((each) => (
                <line
                  key={each.at}
                  className={each === group ? 'time-mark time-mark-chosen' : 'time-mark'}
                  x1={`${each.place * 100}%`}
                  x2={`${each.place * 100}%`}
                  y1="0"
                  y2={height}
                />
              ))}
              {at !== null && <line className="time-cursor" x1={`${place(at)}%`} x2={`${place(at)}%`} y1="0" y2={height} />}
            </svg>
          </div>
        </div>
      </div>
      {group && <MarkDetails group={group} omitted={omitted} />}
      {error && <p className="small muted" role="status">{`What happened is not known: ${error.message}`}</p>}
    </section>
  );
}
