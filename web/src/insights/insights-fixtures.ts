/** Insights as the server sends them, for tests. */

import type { Distribution, Insights } from '../api/types';

export function figure(fields: Partial<Distribution> = {}): Distribution {
  return {
    name: 'leadTime',
    definition: 'From when a commit was seen to when it was on its last cluster.',
    unit: 'seconds',
    value: 5000,
    median: 3600,
    high: 7200,
    points: [
      { run: 'run-1', application: 'shop', at: '2026-03-10T10:00:00Z', value: 600 },
      { run: 'run-2', application: 'shop', at: '2026-03-11T10:00:00Z', value: 7200 },
    ],
    omitted: 0,
    ...fields,
  };
}

export function insights(fields: Partial<Insights> = {}): Insights {
  const counted = [
    { run: 'run-1', application: 'shop', at: '2026-03-10T10:00:00Z', value: 0 },
    { run: 'run-2', application: 'shop', at: '2026-03-11T10:00:00Z', value: 1 },
  ];
  return {
    since: '2026-03-08T00:00:00Z',
    until: '2026-03-12T00:00:00Z',
    project: '',
    application: '',
    runs: 2,
    days: [0, 0, 1, 1],
    figures: [
      figure({ name: 'deploymentFrequency', unit: 'perDay', value: 0.5, median: 0, high: 1, definition: 'Runs that were completed.' }),
      figure(),
      figure({ name: 'changeFailureRate', unit: 'ratio', value: 0.5, median: null, high: null, points: counted, definition: 'Runs that failed, of all.' }),
      figure({ name: 'timeToRestore', value: null, median: null, high: null, points: [], definition: 'From a failure to the next success.' }),
    ],
    ...fields,
  } as Insights;
}
