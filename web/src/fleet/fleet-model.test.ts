import { describe, expect, it } from 'vitest';

import type { Run, Stage } from '../api/types';
import { cluster, CORDON } from './fleet-fixtures';
import { describeFleet, filterClusters, loadsOf, markOf, regionsOf, wavesOf, wordOf } from './fleet-model';

const lost = cluster({ name: 'asia-1', region: 'asia', status: 'unreachable', reason: 'connection refused' });
const closed = cluster({ name: 'eu-east', schedulable: false, taints: [CORDON] });

it('puts regions in trouble first, and in each the worst cluster', () => {
  const regions = regionsOf([cluster(), closed, lost, cluster({ name: 'us', region: 'us' })]);

  expect(regions.map((region) => [region.name, region.clusters.map((each) => each.name), region.troubled])).toEqual([
    ['asia', ['asia-1'], 1],
    ['eu', ['eu-east', 'eu-west'], 0],
    ['us', ['us'], 0],
  ]);
});

it.each([
  [{ status: 'notReady' }, 'not_ready', 'not ready'],
  [{ status: 'something new' }, 'unknown', 'unknown'],
  [{ status: 'suspended', schedulable: false }, 'suspended', 'suspended'],
  [{ schedulable: false, taints: [CORDON] }, 'cordoned', 'cordoned'],
  [{ schedulable: false, taints: [CORDON, { ...CORDON, key: 'volary.dev/drained' }] }, 'cordoned', 'drained'],
  [{ schedulable: false, taints: [{ ...CORDON, key: 'example.com/gpu' }] }, 'cordoned', 'tainted'],
])('names how a cluster is: %j', (fields, mark, word) => {
  expect([markOf(cluster(fields)), wordOf(cluster(fields))]).toEqual([mark, word]);
});

describe('describeFleet', () => {
  it('names the worst cluster with its reason', () => {
    expect(describeFleet([cluster(), closed, lost])).toBe(
      '1 of 3 clusters needs a look; asia-1 is unreachable: connection refused; 1 takes nothing new',
    );
  });

  it('is short where all is well', () => {
    expect(describeFleet([cluster()])).toBe('1 of 1 clusters are ready');
    expect(describeFleet([])).toBe('No cluster is registered yet');
  });
});

it('finds clusters by name, label and taint', () => {
  const find = (search: string) => filterClusters([cluster(), closed, lost], { search }).map((each) => each.name);

  expect(find('ASIA')).toEqual(['asia-1']);
  expect(find('env=prod')).toHaveLength(3);
  expect(find('cordoned')).toEqual(['eu-east']);
  expect(filterClusters([cluster(), lost], { state: 'unreachable', region: 'asia' })).toEqual([lost]);
});

it('says how full a cluster is, and nothing that nobody knows', () => {
  expect(loadsOf(cluster()).map((load) => [load.name, load.used, load.text])).toEqual([
    ['CPU', 0.75, '12 of 16 cores'],
    ['Memory', 0.75, '48 GiB of 64 GiB'],
    ['Pods', 0.4, '40 of 100'],
  ]);
  expect(loadsOf(cluster({ facts: null }))).toEqual([]);
});

it('reads the waves of a run in their order', () => {
  const stage = (wave: string, status: string, targets: string[]) =>
    ({ wave, status, tasks: targets.map((target) => ({ target })) }) as Stage;
  const run = {
    stages: [
      stage('', 'succeeded', ['a']),
      stage('first', 'succeeded', ['a', 'b']),
      stage('first', 'skipped', ['a', 'b']),
      stage('second', 'succeeded', ['c']),
      stage('second', 'pending', ['c']),
      stage('third', 'pending', ['d']),
    ],
  } as Run;

  expect(wavesOf(run)).toEqual([
    { name: 'first', number: 1, state: 'done', clusters: ['a', 'b'] },
    { name: 'second', number: 2, state: 'running', clusters: ['c'] },
    { name: 'third', number: 3, state: 'pending', clusters: ['d'] },
  ]);
});
