import { describe, expect, it } from 'vitest';

import { plan, plannedCluster, plannedGroup, plannedObject } from './plan-fixtures';
import {
  byKind,
  concludePlan,
  describeGroup,
  groupsOf,
  fieldsOf,
  kindOf,
  nameOf,
  valueAt,
  writePath,
} from './plan-model';

describe('groupsOf', () => {
  it('puts trouble first, then the largest group, and keeps every reason', () => {
    const eu = plannedCluster({ name: 'eu', changed: 1 });
    const asia = plannedCluster({ name: 'asia', status: 'unreachable', unreachableReason: 'no route' });
    const africa = plannedCluster({ name: 'africa', status: 'unreachable', unreachableReason: 'lost' });
    const diff = { object: ':ConfigMap:shop:old', action: 'pruned', diff: '-kind: ConfigMap', omitted: 0 };
    const idle = plannedCluster({ name: 'idle', status: 'unchanged' });
    const groups = groupsOf(
      plan({
        clusters: [eu, asia, plannedCluster({ name: 'us', changed: 1 }), africa, idle],
        groups: [
          plannedGroup(idle),
          plannedGroup(eu, { clusters: ['eu', 'us'], diffs: [diff] }),
          plannedGroup(asia, { clusters: ['asia', 'africa'] }),
        ],
      }),
    );

    expect(groups.map((group) => [group.id, group.clusters, describeGroup(group.planned)])).toEqual([
      ['asia', ['asia', 'africa'], 'could not be asked'],
      ['eu', ['eu', 'us'], '1 changed'],
      ['idle', ['idle'], 'no changes'],
    ]);
    expect(groups[0]?.unreachable).toEqual(['no route', 'lost']);
    expect([...(groups[1]?.diffs ?? [])]).toEqual([[diff.object, diff]]);
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

it('draws a dash where nothing happens to an object', () => {
  const side = { cluster: 'eu', action: 'changed', values: ['4', ''] };

  expect([valueAt(side, 0), valueAt(side, 1)]).toEqual(['4', '–']);
});

it.each([
  ['apps:Deployment:shop:web', 'Deployment', 'Deployment shop/web'],
  [':Service:shop:web', 'Service', 'Service shop/web'],
  ['rbac.authorization.k8s.io:ClusterRole::system:shop', 'ClusterRole', 'ClusterRole system:shop'],
])('%s is %s, written %s', (key, kind, name) => {
  expect([kindOf(key), nameOf(key)]).toEqual([kind, name]);
});
