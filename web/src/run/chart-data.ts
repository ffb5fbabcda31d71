/** Series of a metric on one time axis, as charts take them, and how they look. Pure. */

import type { MetricAnalysis, MetricVerdict, Series } from '../api/types';
import { parsed } from '../design/clock';

/** The time axis in seconds, then one list of values per series; null: there is no value then. */
export type Aligned = [number[], ...(number | null)[][]];

export function aligned(series: readonly Series[]): Aligned {
  const times = new Set<number>();
  for (const one of series) {
    for (const sample of one.samples) times.add(secondsOf(sample.at));
  }
  const axis = [...times].sort((one, other) => one - other);
  const place = new Map(axis.map((at, index) => [at, index]));
  const values = series.map((one) => {
    const list = new Array<number | null>(axis.length).fill(null);
    for (const sample of one.samples) {
      const at = place.get(secondsOf(sample.at));
      if (at !== undefined) list[at] = sample.value;
    }
    return list;
  });
  return [axis, ...values];
}

function secondsOf(at: string): number {
  return (parsed(at) ?? 0) / 1000;
}

/** A metric's series cluster by cluster; the outlier first, then by name. */
export function byCluster(metric: MetricAnalysis): [string, Series[]][] {
  const found = new Map<string, Series[]>();
  for (const series of metric.series) {
    found.set(series.cluster, [...(found.get(series.cluster) ?? []), series]);
  }
  const rank = (cluster: string) => (cluster === metric.outlier ? 0 : 1);
  return [...found].sort(([one], [other]) => rank(one) - rank(other) || one.localeCompare(other));
}

/** One line per side over all clusters: the mean of what was measured then, by samples. */
export function pooled(metric: MetricAnalysis): Series[] {
  const variants = [...new Set(metric.series.map((series) => series.variant))];
  return variants.map((variant) => {
    const sums = new Map<string, { sum: number; weight: number }>();
    for (const series of metric.series) {
      if (series.variant !== variant) continue;
      for (const { at, value, count } of series.samples) {
        if (value === null) continue;
        const weight = count ?? 1;
        const found = sums.get(at) ?? { sum: 0, weight: 0 };
        sums.set(at, { sum: found.sum + value * weight, weight: found.weight + weight });
      }
    }
    const samples = [...sums]
      .filter(([, { weight }]) => weight > 0)
      .sort(([one], [other]) => one.localeCompare(other))
      .map(([at, { sum, weight }]) => ({ at, value: sum / weight, count: weight }));
    return { cluster: '', variant, samples, thinned: 0, worth: null };
  });
}

/** Whether these are a score and the groups that it is made of, in points. */
export function isScore(series: readonly Series[]): boolean {
  return series.some((one) => one.worth !== null);
}

/** `1,200 samples`, `12 looks`: what a chart stands for. */
export function extentOf(series: readonly Series[]): string {
  const counts = series.map((one) => one.samples.length + one.thinned);
  if (isScore(series)) return `${Math.max(...counts)} looks`;
  return `${counts.reduce((sum, count) => sum + count, 0)} samples`;
}

/** A line's colour by the name of its token, and its dashes: lines are told apart by them as well. */
export interface LineStyle {
  token: string;
  dash: number[];
}

const SIDES = new Map<string, LineStyle>([
  ['primary', { token: '--primary-variant', dash: [] }],
  ['canary', { token: '--canary-variant', dash: [] }],
  ['baseline', { token: '--baseline-variant', dash: [6, 4] }],
]);
const PARTS: readonly LineStyle[] = [
  { token: '--part-1', dash: [6, 4] },
  { token: '--part-2', dash: [2, 3] },
  { token: '--part-3', dash: [10, 3, 2, 3] },
  { token: '--part-4', dash: [4, 2] },
];

/** How the series at a place among those of its chart is drawn; a score is the first of its own. */
export function lineStyle(series: Series, place: number): LineStyle {
  const plain = { token: '--text', dash: [] };
  if (series.worth === null) return SIDES.get(series.variant) ?? { ...plain, dash: [2, 3] };
  return place === 0 ? plain : (PARTS[(place - 1) % PARTS.length] ?? plain);
}

/** `0.031`, `30 of 50`: the newest value; a dash: there is none. */
export function lastValue(series: Series): string {
  const value = series.samples.findLast((sample) => sample.value !== null)?.value ?? null;
  const shown = value === null ? '–' : short(value);
  return series.worth === null ? shown : `${shown} of ${short(series.worth)}`;
}

function short(value: number): string {
  return String(Number(value.toPrecision(3)));
}

/** What is said above the charts: all clusters together, else each by itself, what failed first. */
export function headVerdicts(metric: MetricAnalysis, most: number): MetricVerdict[] {
  const together = metric.verdicts.find((verdict) => verdict.cluster === '');
  if (together || !isScore(metric.series)) return together ? [together] : [];
  const newest = new Map<string, MetricVerdict>();
  for (const verdict of metric.verdicts) {
    if (!newest.has(verdict.cluster)) newest.set(verdict.cluster, verdict);
  }
  const rank = (verdict: MetricVerdict) => (verdict.result === 'failure' ? 0 : verdict.result === 'success' ? 2 : 1);
  return [...newest.values()].sort((one, other) => rank(one) - rank(other)).slice(0, most);
}

/** `0.2 to 4 %`, `at most 1 %`: what is allowed; empty: nothing is said as a number. */
export function boundsSentence({ bounds, unit }: Pick<MetricAnalysis, 'bounds' | 'unit'>): string {
  const { least, most } = bounds;
  if (unit === 'points') return boundWords(bounds).map(({ text }) => text).join(', ');
  const word = unit ? ` ${unit}` : '';
  if (least !== null && most !== null) return `allowed: ${least} to ${most}${word}`;
  if (most !== null) return `allowed: at most ${most}${word}`;
  return least === null ? '' : `allowed: at least ${least}${word}`;
}

/** The bounds of a score in words, with where they are. */
export function boundWords({ least, marginal }: MetricAnalysis['bounds']): { value: number; text: string }[] {
  const words = [];
  if (least !== null) words.push({ value: least, text: `passes from ${least}` });
  if (marginal !== null) words.push({ value: marginal, text: `marginal from ${marginal}` });
  return words;
}
