/**
 * The four figures of delivery as words and as points of a chart. Plain values in, plain values out.
 */

import type { Distribution, Insights, RunPoint } from '../api/types';
import { duration } from '../design/clock';

export interface Named {
  name: string;
  title: string;
  /** What a small and a large value mean. */
  better: 'higher' | 'lower';
}

const TITLES: Readonly<Record<string, Named>> = {
  deploymentFrequency: {
    name: 'deploymentFrequency',
    title: 'Deployment frequency',
    better: 'higher',
  },
  leadTime: { name: 'leadTime', title: 'Lead time for changes', better: 'lower' },
  changeFailureRate: { name: 'changeFailureRate', title: 'Change failure rate', better: 'lower' },
  timeToRestore: { name: 'timeToRestore', title: 'Time to restore', better: 'lower' },
};

export function titleOf(figure: Distribution): Named {
  return TITLES[figure.name] ?? { name: figure.name, title: figure.name, better: 'lower' };
}

const DAY_MS = 86_400_000;

/** A value in its unit, as people say it. */
export function writeValue(value: number | null, unit: string): string {
  if (value === null) return 'no data';
  if (unit === 'ratio') return `${round(value * 100)} %`;
  if (unit === 'seconds') return duration(value);
  if (unit === 'perDay') return writeRate(value);
  return String(round(value));
}

/** How often, in the shortest span in which it happens at least once. */
function writeRate(aDay: number): string {
  const spans: readonly (readonly [number, string])[] = [
    [1, 'day'],
    [7, 'week'],
    [30, 'month'],
  ];
  if (aDay <= 0) return '0 a day';
  const [days, name] = spans.find(([length]) => aDay * length >= 0.95) ?? [0, ''];
  return days ? `${round(aDay * days)} a ${name}` : 'less than 1 a month';
}

function round(value: number): number {
  return value >= 100 ? Math.round(value) : Math.round(value * 10) / 10;
}

/** A time in one sentence; what is missing is said as missing. */
export function describeInsights(insights: Insights): string {
  if (!insights.runs) return 'No run ended in this time';
  const find = (name: string) => insights.figures.find((figure) => figure.name === name);
  const parts = [`${insights.runs} ${insights.runs === 1 ? 'run' : 'runs'}`];
  const lead = find('leadTime');
  if (lead?.median != null)
    parts.push(`half of the commits were everywhere within ${duration(lead.median)}`);
  const failures = find('changeFailureRate');
  if (failures?.value != null)
    parts.push(
      failures.value === 0 ? 'no change failed' : `${writeValue(failures.value, 'ratio')} of changes failed`,
    );
  const restore = find('timeToRestore');
  if (restore?.median != null)
    parts.push(`half of the failures were over within ${duration(restore.median)}`);
  return parts.join('; ');
}

/** A point in its place: both coordinates from 0 to 1, `y` from below. */
export interface Placed {
  point: RunPoint;
  x: number;
  y: number;
}

/** A mark of an axis. */
export interface Tick {
  /** From 0 to 1. */
  at: number;
  label: string;
}

export interface Scatter {
  points: readonly Placed[];
  /** Of the vertical axis. */
  ticks: readonly Tick[];
  /** The median's and the 90th percentile's height; null: there is none. */
  median: number | null;
  high: number | null;
}

/**
 * Points over time. Durations span from seconds to weeks, so their axis is logarithmic, from the
 * step below the shortest; everything else begins at 0.
 */
export function scatterOf(figure: Distribution, since: number, until: number): Scatter {
  const span = Math.max(1, until - since);
  const values = figure.points.map((point) => point.value);
  const most = Math.max(...values, figure.high ?? 0, figure.unit === 'seconds' ? MINUTE : 1);
  const shortest = Math.min(most, ...values, figure.median ?? most);
  const least = STEPS.findLast(([seconds]) => seconds <= shortest)?.[0] ?? 1;
  const place =
    figure.unit === 'seconds' ? logarithmic(least, most * ROOM_ABOVE) : (value: number) => value / most;
  const clamp = (value: number) => Math.min(1, Math.max(0, value));
  return {
    points: figure.points.map((point) => ({
      point,
      x: clamp((Date.parse(point.at) - since) / span),
      y: clamp(place(point.value)),
    })),
    ticks: figure.unit === 'seconds' ? durationTicks(least, most, place) : [],
    median: figure.median === null ? null : clamp(place(figure.median)),
    high: figure.high === null ? null : clamp(place(figure.high)),
  };
}

const MINUTE = 60;
const ROOM_ABOVE = 1.2;

function logarithmic(least: number, most: number): (value: number) => number {
  const scale = Math.log(most / least);
  return (value) => (value <= least ? 0 : Math.log(value / least) / scale);
}

const STEPS: readonly (readonly [number, string])[] = [
  [1, '1 s'],
  [10, '10 s'],
  [60, '1 m'],
  [600, '10 m'],
  [3600, '1 h'],
  [86_400, '1 d'],
  [604_800, '1 w'],
  [2_592_000, '30 d'],
];

function durationTicks(least: number, most: number, place: (value: number) => number): Tick[] {
  return STEPS.filter(([seconds]) => seconds >= least && seconds <= most).map(([seconds, label]) => ({
    at: place(seconds),
    label,
  }));
}

/** A bar of a figure that is counted. */
export interface Bar {
  /** Milliseconds since 1970, when it begins. */
  from: number;
  days: number;
  value: number;
  /** What the bar is made of. */
  total: number;
}

/** Deployments of each day, of each week from 45 days on. */
export function frequencyBars(insights: Insights): Bar[] {
  const width = insights.days.length > 45 ? 7 : 1;
  const since = Date.parse(insights.since);
  const bars: Bar[] = [];
  for (let day = 0; day < insights.days.length; day += width) {
    const part = insights.days.slice(day, day + width);
    const total = part.reduce((sum, number) => sum + number, 0);
    bars.push({ from: since + day * DAY_MS, days: part.length, value: total, total });
  }
  return bars;
}

/** Share of changes that failed, by week; a week without a change has no bar. */
export function failureBars(figure: Distribution, since: number, until: number): Bar[] {
  const days = Math.max(1, Math.ceil((until - since) / DAY_MS));
  const width = days > 14 ? 7 : 1;
  const bars: Bar[] = [];
  for (let day = 0; day < days; day += width) {
    const from = since + day * DAY_MS;
    const part = figure.points.filter((point) => {
      const at = Date.parse(point.at);
      return at >= from && at < from + width * DAY_MS;
    });
    if (!part.length) continue;
    const failed = part.filter((point) => point.value > 0).length;
    bars.push({ from, days: width, value: failed / part.length, total: part.length });
  }
  return bars;
}
