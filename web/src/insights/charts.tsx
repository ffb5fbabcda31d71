import { Link } from '@tanstack/react-router';

import type { Distribution } from '../api/types';
import { exact } from '../design/clock';
import { scatterOf, writeValue, type Bar } from './insights-model';

/** Drawn in this box and scaled with the page. */
const WIDTH = 480;
const HEIGHT = 150;
const LEFT = 44;
const RIGHT = 56;
const BOTTOM = 18;
const TOP = 8;
/** Two levels whose labels would lie over each other. */
const CLOSE = 0.1;
const inner = { width: WIDTH - LEFT - RIGHT, height: HEIGHT - BOTTOM - TOP };

const day = (at: number) => new Date(at).toLocaleDateString('en-GB', { day: 'numeric', month: 'short' });
const atX = (share: number) => LEFT + share * inner.width;
const atY = (share: number) => TOP + (1 - share) * inner.height;

function Axis({ since, until }: { since: number; until: number }) {
  return (
    <>
      <line x1={LEFT} x2={WIDTH - RIGHT} y1={atY(0)} y2={atY(0)} className="chart-axis" />
      <text x={LEFT} y={HEIGHT - 4} className="chart-label">
        {day(since)}
      </text>
      <text x={WIDTH - RIGHT} y={HEIGHT - 4} textAnchor="end" className="chart-label">
        {day(until)}
      </text>
    </>
  );
}

/** Each run a point over time, with the median and the 90th percentile; a point leads to its run. */
export function ScatterChart({
  figure,
  since,
  until,
  title,
}: {
  figure: Distribution;
  since: number;
  until: number;
  title: string;
}) {
  const { points, ticks, median, high } = scatterOf(figure, since, until);
  return (
    <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} className="figure-chart" role="group" aria-label={`${title}, each run a point`}>
      <Axis since={since} until={until} />
      {ticks.map((tick) => (
        <g key={tick.label}>
          <line x1={LEFT} x2={WIDTH - RIGHT} y1={atY(tick.at)} y2={atY(tick.at)} className="chart-grid" />
          <text x={LEFT - 5} y={atY(tick.at) + 4} textAnchor="end" className="chart-label">
            {tick.label}
          </text>
        </g>
      ))}
      {high !== null && <Level at={high} label="90 %" isAbove={median !== null && high - median < CLOSE} />}
      {median !== null && <Level at={median} label="median" />}
      {points.map(({ point, x, y }) => {
        const label = `${point.application}: ${writeValue(point.value, figure.unit)}, ${exact(Date.parse(point.at))}`;
        return (
          // The list of runs below is the way for the keyboard: hundreds of stops are none.
          <Link key={`${point.run} ${point.at}`} to="/runs/$run" params={{ run: point.run }} tabIndex={-1} aria-label={label}>
            <circle cx={atX(x)} cy={atY(y)} r="4" className="chart-point">
              <title>{label}</title>
            </circle>
          </Link>
        );
      })}
    </svg>
  );
}

/** `isAbove`: its label makes room for that of the level below it. */
function Level({ at, label, isAbove = false }: { at: number; label: string; isAbove?: boolean }) {
  return (
    <>
      <line x1={LEFT} x2={WIDTH - RIGHT} y1={atY(at)} y2={atY(at)} className="chart-level" />
      <text x={WIDTH - RIGHT + 4} y={atY(at) + (isAbove ? -9 : 4)} className="chart-label">
        {label}
      </text>
    </>
  );
}

/** Amounts over time. */
export function BarChart({
  bars,
  since,
  until,
  title,
  write,
  most,
  isBad = false,
}: {
  bars: readonly Bar[];
  since: number;
  until: number;
  title: string;
  write: (bar: Bar) => string;
  /** What the height stands for; left out: the largest amount. */
  most?: number;
  isBad?: boolean;
}) {
  const span = Math.max(1, until - since);
  const height = most ?? Math.max(1, ...bars.map((bar) => bar.value));
  return (
    <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} className="figure-chart" role="group" aria-label={`${title} over time`}>
      <Axis since={since} until={until} />
      <text x={LEFT - 5} y={atY(1) + 4} textAnchor="end" className="chart-label">
        {most === 1 ? '100 %' : height}
      </text>
      {bars.map((bar) => {
        const x = atX((bar.from - since) / span);
        const width = Math.max(1, (inner.width * bar.days * 86_400_000) / span - 1);
        const label = `${day(bar.from)}${bar.days > 1 ? `, ${bar.days} days` : ''}: ${write(bar)}`;
        return (
          <rect
            key={bar.from}
            role="img"
            aria-label={label}
            x={x}
            width={Math.max(0, Math.min(width, WIDTH - RIGHT - x))}
            y={atY(bar.value / height)}
            height={(inner.height * bar.value) / height}
            className={isBad ? 'chart-bar-bad' : 'chart-bar'}
          >
            <title>{label}</title>
          </rect>
        );
      })}
    </svg>
  );
}
