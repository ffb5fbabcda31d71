import { describe, expect, it } from 'vitest';

import { figure, insights } from './insights-fixtures';
import { describeInsights, failureBars, frequencyBars, scatterOf, writeValue } from './insights-model';

const SINCE = Date.parse('2026-03-08T00:00:00Z');
const UNTIL = Date.parse('2026-03-12T00:00:00Z');
const DAY_MS = 86_400_000;

it.each([
  [null, 'seconds', 'no data'],
  [3725, 'seconds', '1 h 02 m'],
  [0.125, 'ratio', '12.5 %'],
  [0.5, 'perDay', '3.5 a week'],
  [1 / 30, 'perDay', '1 a month'],
  [1 / 366, 'perDay', 'less than 1 a month'],
  [0, 'perDay', '0 a day'],
  [2.5, 'perDay', '2.5 a day'],
  [123.4, 'perDay', '123 a day'],
])('writes %j %s', (value, unit, written) => {
  expect(writeValue(value, unit)).toBe(written);
});

describe('describeInsights', () => {
  it('says in one sentence how delivery goes', () => {
    expect(describeInsights(insights())).toBe(
      '2 runs; half of the commits were everywhere within 1 h 00 m; 50 % of changes failed',
    );
  });

  it('says that there is nothing to count', () => {
    expect(describeInsights(insights({ runs: 0 }))).toBe('No run ended in this time');
  });
});

describe('scatterOf', () => {
  it('places durations by their order of magnitude, within the frame', () => {
    const { points, ticks, median, high } = scatterOf(figure(), SINCE, UNTIL);

    expect(points.map(({ x }) => Math.round(x * 100))).toEqual([60, 85]);
    expect(points[0]?.y).toBe(0);
    expect(points[1]?.y).toBeGreaterThan(0.9);
    expect(points[1]?.y).toBeLessThan(1);
    expect(high).toBe(points[1]?.y);
    expect(median).toBeLessThan(high ?? 0);
    expect(ticks.map((tick) => tick.label)).toEqual(['10 m', '1 h']);
  });

  it('draws nothing for what is not known', () => {
    const empty = figure({ value: null, median: null, high: null, points: [] });

    expect(scatterOf(empty, SINCE, UNTIL)).toMatchObject({ points: [], median: null, high: null });
  });
});

it('counts deployments by day, and by week where days would be too many', () => {
  expect(frequencyBars(insights()).map((bar) => [bar.from, bar.total])).toEqual([
    [SINCE, 0],
    [SINCE + DAY_MS, 0],
    [SINCE + 2 * DAY_MS, 1],
    [SINCE + 3 * DAY_MS, 1],
  ]);
  const weeks = frequencyBars(insights({ days: Array<number>(90).fill(1) }));
  expect(weeks.map((bar) => bar.total)).toEqual([...Array<number>(12).fill(7), 6]);
});

it('counts failures, and shows no day without a change', () => {
  const failures = insights().figures[2];
  const bars = failures ? failureBars(failures, SINCE, UNTIL) : [];

  expect(bars.map((bar) => [bar.from, bar.value, bar.total])).toEqual([
    [SINCE + 2 * DAY_MS, 0, 1],
    [SINCE + 3 * DAY_MS, 1, 1],
  ]);
});
