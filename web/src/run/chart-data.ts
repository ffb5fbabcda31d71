/** Series of a metric on one time axis, as charts take them. Pure. */

import type { MetricAnalysis, Series } from '../api/types';
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
    return { cluster: '', variant, samples, thinned: 0 };
  });
}

/** How many samples a chart stands for. */
export function sampleCount(series: readonly Series[]): number {
  return series.reduce((sum, one) => sum + one.samples.length + one.thinned, 0);
}

/** `0.2 to 4 %`, `at most 1 %`: what is allowed; empty: nothing is said as a number. */
export function boundsSentence({ bounds, unit }: Pick<MetricAnalysis, 'bounds' | 'unit'>): string {
  const { least, most } = bounds;
  const word = unit ? ` ${unit}` : '';
  if (least !== null && most !== null) return `allowed: ${least} to ${most}${word}`;
  if (most !== null) return `allowed: at most ${most}${word}`;
  return least === null ? '' : `allowed: at least ${least}${word}`;
}
