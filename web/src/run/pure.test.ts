import { expect, test } from 'vitest';

import { analysis, mark, score, smallRun, START } from '../../tests/fixtures/run';
import { aligned, boundsSentence, byCluster, extentOf, headVerdicts, lastValue, lineStyle, pooled } from './chart-data';
import { strip } from './heat-strip';
import { addLines, NO_LINES, type LogEntry } from './log-lines';
import { linesOf, matrixOf } from './matrix';
import { nextRow } from './grid';
import { groupLabel, groupMarks, lookOf, signOf, timeLine } from './timeline-model';
import { splitFrom, splitOf, splitSentence } from './traffic-split';

test('a split is laid out from 0 to 100 and says where it is not as wanted', () => {
  const split = splitFrom({ primary: 70, canary: 30 }, { primary: 90, canary: 10 });

  expect(split.observed).toEqual([
    { variant: 'primary', weight: 90, start: 0 },
    { variant: 'canary', weight: 10, start: 90 },
  ]);
  expect(splitSentence(split)).toBe('primary 90, canary 10; wanted primary 70, canary 30');
  expect(splitSentence(splitFrom({ primary: 70, canary: 30 }, {}))).toContain('not read back yet');
});

test('a cluster whose traffic the run has not moved has no split', () => {
  const rows = matrixOf(smallRun()).groups[0]?.rows ?? [];

  expect(rows.map((row) => [row.cluster, splitOf(row) !== null])).toEqual([
    ['asia', false],
    ['eu-west', false],
    ['us-east', true],
  ]);
});

test('series share one axis of time, with holes where one was not measured', () => {
  const at = (second: number) => new Date(second * 1000).toISOString();
  const sample = (second: number, value: number | null) => ({ at: at(second), value, count: 1 });

  const data = aligned([
    { cluster: 'a', variant: 'canary', samples: [sample(1, 5), sample(3, null)], thinned: 0, worth: null },
    { cluster: 'a', variant: 'baseline', samples: [sample(2, 7)], thinned: 0, worth: null },
  ]);

  expect(data).toEqual([
    [1, 2, 3],
    [5, null, null],
    [null, 7, null],
  ]);
});

test('a score is drawn plainly, its groups beside it, each with what it can add', () => {
  const metric = score(['a', 'b']);
  const [[, own] = ['', []]] = byCluster(metric);

  expect(own.map((one) => `${one.variant} ${lastValue(one)}`)).toEqual([
    'score 70 of 100',
    'errors and restarts 70 of 70',
    'latency 0 of 30',
  ]);
  expect(own.map(lineStyle)[0]).toEqual({ token: '--text', dash: [] });
  expect(new Set(own.map((one, place) => lineStyle(one, place).token)).size).toBe(3);
  expect(new Set(own.map((one, place) => lineStyle(one, place).dash.join())).size).toBe(3);
  expect(extentOf(own)).toBe('4 looks');
  expect(boundsSentence(metric)).toBe('passes from 80, marginal from 60');
});

test('a score is that of its cluster, and the one that failed is said first', () => {
  expect(headVerdicts(score(['a', 'b', 'c']), 2).map((verdict) => verdict.cluster)).toEqual(['a', 'c']);
  const pooledOnes = analysis(['a', 'b']).metrics.flatMap((metric) => headVerdicts(metric, 2));
  expect(pooledOnes.map((verdict) => verdict.cluster)).toEqual(['']);
});

test('all clusters together weigh by their samples; the outlier comes first', () => {
  const [metric] = analysis(['a', 'b']).metrics;
  if (!metric) throw new Error('the fixture has a metric');
  const at = '2026-03-12T14:00:00Z';
  const series = [
    { cluster: 'a', variant: 'canary', samples: [{ at, value: 1, count: 300 }], thinned: 0, worth: null },
    { cluster: 'b', variant: 'canary', samples: [{ at, value: 5, count: 100 }], thinned: 0, worth: null },
  ];

  expect(pooled({ ...metric, series })[0]?.samples).toEqual([{ at, value: 2, count: 400 }]);
  expect(byCluster(metric).map(([name]) => name)).toEqual(['b', 'a']);
  expect(boundsSentence(metric)).toBe('allowed: at most 2 %');
});

test('a log keeps its newest lines, counts the others, and has none twice', () => {
  const line = (position: number): LogEntry => ({ position, at: '', level: 'info', text: '', stage: '', target: '', attempt: 1 });

  const first = addLines(NO_LINES, [line(1), line(2), line(3)], 2);
  const second = addLines(first, [line(3), line(4)], 2);

  expect(second.lines.map((each) => each.position)).toEqual([3, 4]);
  expect(second.dropped).toBe(2);
});

test('arrows pass over the heads of groups and stop at the ends', () => {
  const matrix = matrixOf(smallRun());
  const rows = linesOf({ ...matrix, groups: matrix.groups.map((group) => ({ ...group, name: 'wave' })) }, new Set());

  expect([nextRow(rows, 1, -1), nextRow(rows, 1, 1), nextRow(rows, 3, 1)]).toEqual([1, 2, 3]);
});

test('the map has a path for each state that there is', () => {
  const paths = strip(linesOf(matrixOf(smallRun()), new Set()));

  expect([...paths].filter(([, path]) => path !== '').map(([tone]) => tone)).toEqual(['good', 'busy', 'bad']);
});

test('the time line has a bar for what began', () => {
  const line = timeLine(smallRun(), START + 60_000);

  expect(line?.bars.map((bar) => [bar.label, bar.until - bar.from])).toEqual([['canary', 58_000]]);
});

test('marks that would lie over each other are one with a number, and each other has its sign', () => {
  const line = { from: START, until: START + 100_000, bars: [] };
  const shown = [mark(0, 'approved', 'ben approved'), mark(50, 'paused', 'ana paused the run'), mark(52, 'resumed', 'ana resumed the run')];

  const groups = groupMarks(line, shown, 11);

  expect(groups.map((group) => [group.place, signOf(group), groupLabel(group)])).toEqual([
    [0, '✓', 'ben approved'],
    [0.5, '2', '2 marks, the first: ana paused the run'],
  ]);
  expect(groups.map((group) => group.kind)).toEqual(['approved', 'many']);
});

test('thousands of marks are never more signs than there is room for, and none is lost', () => {
  const line = { from: START, until: START + 1000_000, bars: [] };
  const shown = Array.from({ length: 2000 }, (_, place) => mark(place / 2, 'weights', `traffic ${place}`));

  const groups = groupMarks(line, shown, 48);

  expect(groups.length).toBeLessThanOrEqual(48);
  expect(groups.reduce((sum, group) => sum + group.marks.length, 0)).toBe(2000);
});

test('every kind has a sign of its own beside its colour, verdicts by their result', () => {
  const kinds = ['rejected', 'paused', 'resumed', 'decision', 'weights', 'lost', 'back', 'rollback', 'running'];
  const line = { from: START, until: START + 1000, bars: [] };
  const signs = kinds.flatMap((kind) => groupMarks(line, [mark(0, kind, '')], 9).map(signOf));

  expect(new Set(signs).size).toBe(kinds.length);
  expect(lookOf(mark(0, 'verdict', '', { result: 'failure' }))).toBe('failure');
});

test('an approval that is waited for has a bar from the end of the stage before it', () => {
  const run = smallRun();
  const [first] = run.stages;
  if (!first) throw new Error('a run has stages');
  const done = { ...first, wave: '', status: 'succeeded', finished: new Date(START + 10_000).toISOString() };
  const asked = { ...first, id: 'asked', name: 'WAIT_APPROVAL', wave: '', status: 'waiting', started: null, finished: null, tasks: [] };

  const line = timeLine({ ...run, stages: [done, asked] }, START + 60_000);

  expect(line?.bars.map((bar) => [bar.label, bar.from - START])).toContainEqual(['approval', 10_000]);
  expect(timeLine({ ...run, stages: [done, { ...asked, status: 'pending' }] }, START + 60_000)?.bars).toHaveLength(1);
});

test('an approval that was given keeps the bar of the time that it was waited for', () => {
  const run = smallRun();
  const [first] = run.stages;
  if (!first) throw new Error('a run has stages');
  const at = (seconds: number) => new Date(START + seconds * 1000).toISOString();
  const done = { ...first, wave: '', status: 'succeeded', finished: at(10) };
  const given = { ...done, id: 'asked', name: 'WAIT_APPROVAL', started: at(40), finished: at(41), tasks: [] };
  const approvals = [{ stage: 'asked', group: '', by: 'ana', at: at(40), approved: true, comment: '' }];

  const bars = (shown: typeof approvals) =>
    timeLine({ ...run, stages: [done, given], approvals: shown }, START + 60_000)?.bars.slice(1);

  expect(bars(approvals)?.map((bar) => [bar.from - START, bar.until - START])).toEqual([[10_000, 41_000]]);
  expect(bars([])?.map((bar) => bar.from - START)).toEqual([40_000]);
});

test('users meet what was seen last, whichever stage saw it', () => {
  const run = smallRun();
  const [first] = run.stages;
  const [task] = first?.tasks ?? [];
  if (!first || !task) throw new Error('a run has tasks');
  const at = (seconds: number) => new Date(START + seconds * 1000).toISOString();
  const stage = (id: string, started: number, wantedWeights: Record<string, number>, observedWeights: Record<string, number>) => ({
    ...first,
    id,
    name: id.replace(/^\d+-/, ''),
    wave: '',
    tasks: [{ ...task, started: at(started), wantedWeights, observedWeights }],
  });
  const routed = stage('1-K8S_TRAFFIC_ROUTING', 10, { primary: 70, canary: 30 }, { primary: 70, canary: 30 });
  const splitAfter = (...stages: (typeof routed)[]) => {
    const row = matrixOf({ ...run, stages, rollback: null }).groups.flatMap((group) => group.rows).find((each) => each.cluster === task.target);
    return row && splitOf(row);
  };

  const returned = splitAfter(routed, stage('2-K8S_PRIMARY_ROLLOUT', 20, { primary: 100 }, { primary: 100 }));
  expect(returned?.observed).toEqual([{ variant: 'primary', weight: 100, start: 0 }]);
  const returning = splitAfter(routed, stage('2-K8S_PRIMARY_ROLLOUT', 20, { primary: 100 }, {}));
  expect(returning?.observed.map((share) => share.weight)).toEqual([70, 30]);
  expect(returning?.differs).toBe(true);
});
