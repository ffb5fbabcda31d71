import { useEffect, useRef } from 'react';
import UPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';

import type { Bounds, Series } from '../api/types';
import { usePreferences } from '../app/preferences';
import { exact } from '../design/clock';
import { aligned, boundWords, extentOf, isScore, lastValue, lineStyle } from './chart-data';
import './chart.css';

const HEIGHT = 130;
/** Points of a score; with room for a line at the top. */
const POINTS: [number, number] = [0, 104];
/** What is written at its axis: the bounds between them have words of their own. */
const WHOLE = [0, 100];
/** Of words in a chart, in pixels. */
const FONT = 10;

/** Lines of one metric: what each side measured, or what a score is made of, and what is allowed. */
export function Chart({
  series,
  bounds,
  label,
  isOutlier = false,
}: {
  series: readonly Series[];
  bounds: Bounds;
  label: string;
  isOutlier?: boolean;
}) {
  const element = useRef<HTMLDivElement>(null);
  const plot = useRef<UPlot | null>(null);
  const { theme } = usePreferences();
  const data = aligned(series);
  const ofScore = isScore(series);
  const lines = series.map((one, place) => ({ label: one.variant, ...lineStyle(one, place) }));

  useEffect(() => {
    const host = element.current;
    if (!host) return undefined;
    const colour = (name: string) => getComputedStyle(host).getPropertyValue(name).trim();
    const axis = { stroke: colour('--text-muted'), grid: { stroke: colour('--border'), width: 1 }, ticks: { show: false } };
    plot.current = new UPlot(
      {
        width: host.clientWidth || 320,
        height: HEIGHT,
        legend: { show: false },
        cursor: { drag: { x: false, y: false } },
        scales: { y: { range: (_, low, high) => (ofScore ? POINTS : rangeOf(low, high, bounds)) } },
        axes: [
          { ...axis, size: 26, values: (_, ticks) => ticks.map(clockOf) },
          { ...axis, size: 48, ...(ofScore && { splits: () => WHOLE }) },
        ],
        series: [
          {},
          ...lines.map(({ label: name, token, dash }) => ({
            label: name,
            stroke: colour(token),
            width: 1.6,
            dash,
            spanGaps: false,
            points: { size: 4 },
          })),
        ],
        hooks: {
          drawClear: [(chart) => (ofScore ? drawMarks(chart, bounds, colour) : drawBand(chart, bounds, colour('--good-fill'), colour('--bad-shape')))],
        },
      },
      data as UPlot.AlignedData,
      host,
    );
    const resized = new ResizeObserver(() => {
      if (host.clientWidth > 0) plot.current?.setSize({ width: host.clientWidth, height: HEIGHT });
    });
    resized.observe(host);
    return () => {
      resized.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
    // A chart is made anew for other lines, bounds or colours; new values only join it.
  }, [JSON.stringify(lines), ofScore, bounds.least, bounds.most, bounds.marginal, theme]); // eslint-disable-line react-hooks/exhaustive-deps
  useEffect(() => {
    plot.current?.setData(data as UPlot.AlignedData);
  });

  return (
    <figure className={isOutlier ? 'chart chart-outlier' : 'chart'}>
      <figcaption className="row small">
        <strong className="grow truncate">{label}</strong>
        {isOutlier && <span className="tone-text-bad">farthest from the others</span>}
        <span className="muted">{extentOf(series)}</span>
      </figcaption>
      <div ref={element} role="img" aria-label={spokenChart(label, series)} />
      <div className="row wrap small muted">
        {series.map((one, place) => {
          const { token, dash } = lineStyle(one, place);
          return (
            <span key={place} className="chart-key">
              <svg width="18" height="6" aria-hidden="true">
                <line x1="0" y1="3" x2="18" y2="3" style={{ stroke: `var(${token})` }} strokeWidth="2" strokeDasharray={dash.join(' ')} />
              </svg>
              {one.variant} {lastValue(one)}
            </span>
          );
        })}
      </div>
    </figure>
  );
}

function clockOf(seconds: number): string {
  return exact(seconds * 1000).slice(11, 19);
}

function spokenChart(label: string, series: readonly Series[]): string {
  return `${label}: ${series.map((one) => `${one.variant} last ${lastValue(one)}`).join(', ')}`;
}

/** All values and the bounds in sight, with room above and below. */
function rangeOf(low: number | null, high: number | null, bounds: Bounds): [number, number] {
  const all = [low, high, bounds.least, bounds.most].filter((each): each is number => typeof each === 'number');
  const least = Math.min(...all, all.length > 0 ? Number.POSITIVE_INFINITY : 0);
  const most = Math.max(...all, all.length > 0 ? Number.NEGATIVE_INFINITY : 1);
  const room = (most - least || Math.abs(most) || 1) * 0.1;
  return [least >= 0 ? Math.max(0, least - room) : least - room, most + room];
}

function drawBand(chart: UPlot, bounds: Bounds, fill: string, line: string): void {
  if (bounds.least === null && bounds.most === null) return;
  const { ctx, bbox } = chart;
  const place = (value: number | null, otherwise: number) =>
    value === null ? otherwise : Math.min(bbox.top + bbox.height, Math.max(bbox.top, chart.valToPos(value, 'y', true)));
  const top = place(bounds.most, bbox.top);
  const bottom = place(bounds.least, bbox.top + bbox.height);
  ctx.save();
  ctx.fillStyle = fill;
  ctx.fillRect(bbox.left, top, bbox.width, bottom - top);
  ctx.strokeStyle = line;
  ctx.setLineDash([3, 3]);
  for (const [value, y] of [[bounds.most, top], [bounds.least, bottom]] as const) {
    if (value === null) continue;
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
  }
  ctx.restore();
}

/** What passes, what is marginal, and the line below which a score fails, by name. */
function drawMarks(chart: UPlot, bounds: Bounds, colour: (name: string) => string): void {
  const { ctx, bbox } = chart;
  const place = (value: number) => chart.valToPos(value, 'y', true);
  const ratio = devicePixelRatio || 1;
  ctx.save();
  ctx.font = `${FONT * ratio}px system-ui, sans-serif`;
  let above = bbox.top;
  for (const [index, { value, text }] of boundWords(bounds).entries()) {
    const y = place(value);
    ctx.fillStyle = colour(index === 0 ? '--good-fill' : '--wait-fill');
    ctx.fillRect(bbox.left, above, bbox.width, y - above);
    ctx.strokeStyle = colour(index === 0 ? '--bad-shape' : '--wait-shape');
    ctx.setLineDash([3, 3]);
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
    above = y;
    ctx.fillStyle = colour('--text-muted');
    // The first above its line, the next one below its own: they may be close to each other. At the left a
    // score has not fallen yet.
    ctx.fillText(text, bbox.left + 6 * ratio, index === 0 ? y - 3 * ratio : y + (FONT + 1) * ratio);
  }
  ctx.restore();
}
