import { describe, expect, it } from 'vitest';

import { plan, plannedCluster, plannedObject } from './plan-fixtures';
import {
  byKind,
  concludePlan,
  describeGroup,
  groupClusters,
  fieldsOf,
  kindOf,
  nameOf,
  variationsOf,
  writePath,
} from './plan-model';

const image = (tag: string) => ({
  path: ['spec', 'template', 'spec', 'containers', 0, 'image'],
  operation: 'change',
  old: 'shop:v1',
  new: `shop:${tag}`,
});
const replicas = (number: number) => ({
  path: ['spec', 'replicas'],
  operation: 'change',
  old: 2,
  new: number,
});
const web = (...differences: Record<string, unknown>[]) =>
  plannedObject({ object: 'apps:Deployment:shop:web', differences });

describe('groupClusters', () => {
  it('puts clusters that would do the same together, trouble first', () => {
    const same = { objects: [web(image('v2'))], changed: 1 };
    const groups = groupClusters([
      plannedCluster({ name: 'eu', ...same }),
      plannedCluster({ name: 'asia', status: 'unreachable', unreachableReason: 'no route' }),
      plannedCluster({ name: 'us', ...same }),
      plannedCluster({ name: 'idle', status: 'unchanged' }),
    ]);

    expect(groups.map((group) => [group.id, group.clusters])).toEqual([
      ['asia', ['asia']],
      ['eu', ['eu', 'us']],
      ['idle', ['idle']],
    ]);
    expect(groups.map((group) => describeGroup(group.planned))).toEqual([
      'could not be asked',
      '1 changed',
      'no changes',
    ]);
  });
});

it('concludes as the command line does', () => {
  const clusters = [
    plannedCluster({ name: 'eu', changed: 1 }),
    plannedCluster({ name: 'us', status: 'refused' }),
    plannedCluster({ name: 'asia', status: 'not_pruned', pruneRefusal: 'too much at once' }),
  ];

  expect(concludePlan(plan({ clusters }))).toBe(
    '1 of 3 clusters would change, 1 of 3 clusters would refuse, ' +
      '1 of 3 clusters would keep what Git no longer has',
  );
  expect(concludePlan(plan({ clusters: [] }))).toBe('no changes');
});

it('lists objects by kind', () => {
  const objects = [':Service:shop:web', 'apps:Deployment:shop:web', ':Service:shop:api'].map((object) =>
    plannedObject({ object }),
  );

  expect(byKind(objects).map(([kind, of]) => [kind, of.length])).toEqual([
    ['Deployment', 1],
    ['Service', 2],
  ]);
});

it('writes paths with keys that hold dots', () => {
  expect(writePath(['metadata', 'annotations', 'volary.dev/note'])).toBe(
    'metadata.annotations.[volary.dev/note]',
  );
});

describe('fieldsOf', () => {
  it('compares texts line by line', () => {
    const settings = { path: ['data', 'a.conf'], operation: 'change', old: 'a\nb\nc', new: 'a\nx\nc' };

    const [found] = fieldsOf(plannedObject({ differences: [settings] }));

    expect(found?.path).toBe('data.[a.conf]');
    expect(found?.lines.map((line) => line.sign)).toEqual(['same', 'removed', 'added', 'same']);
  });

  it('tells a field that is null from one that is not there', () => {
    const there = { path: ['spec', 'a'], operation: 'add', new: null };

    const [found] = fieldsOf(plannedObject({ differences: [there] }));

    expect(found?.lines).toEqual([{ sign: 'added', text: 'null', before: null, after: 1 }]);
  });

  it('says of a secret only that it changes', () => {
    const secret = { path: ['data', 'password'], operation: 'change', old: '*****', new: '*****' };

    const [found] = fieldsOf(plannedObject({ differences: [secret] }));

    expect(found?.isMasked).toBe(true);
  });
});

describe('variationsOf', () => {
  it('shows what differs, and nothing that all have', () => {
    const groups = groupClusters([
      plannedCluster({ name: 'eu', objects: [web(image('v2'), replicas(4))], changed: 1 }),
      plannedCluster({ name: 'us', objects: [web(image('v2'), replicas(9))], changed: 1 }),
    ]);

    const [found, ...others] = variationsOf(groups);

    expect(others).toEqual([]);
    expect(found?.object).toBe('apps:Deployment:shop:web');
    expect([...(found?.sides ?? [])]).toEqual([
      ['eu', 'changed; spec.replicas: 4'],
      ['us', 'changed; spec.replicas: 9'],
    ]);
  });

  it('names who would do nothing', () => {
    const groups = groupClusters([
      plannedCluster({ name: 'eu', objects: [web(image('v2'))], changed: 1 }),
      plannedCluster({ name: 'us', status: 'unchanged' }),
    ]);

    expect([...(variationsOf(groups)[0]?.sides ?? [])]).toEqual([
      ['eu', 'changed'],
      ['us', 'nothing to do'],
    ]);
  });
});

it.each([
  ['apps:Deployment:shop:web', 'Deployment', 'Deployment shop/web'],
  [':Service:shop:web', 'Service', 'Service shop/web'],
  ['rbac.authorization.k8s.io:ClusterRole::system:shop', 'ClusterRole', 'ClusterRole system:shop'],
])('%s is %s, written %s', (key, kind, name) => {
  expect([kindOf(key), nameOf(key)]).toEqual([kind, name]);
});
