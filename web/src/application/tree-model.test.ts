import { describe, expect, it } from 'vitest';

import { cluster, HEAD, node, tree, workload } from './application-fixtures';
import { applyChange, branchesOf, describeTree, sumObjects, visibleRows } from './tree-model';

describe('applyChange', () => {
  const change = (fields: Parameters<typeof cluster>[0], version = 8, removed: string[] = []) => ({
    application: 'shop',
    version,
    cluster: cluster(fields),
    removed,
  });

  it('changes what changed, takes what is gone, and keeps the rest as it is', () => {
    const before = tree();
    const healthy = node({ uid: 'pod-b', parent: 'set', kind: 'Pod', name: 'web-7f9-b', ready: 1, total: 1 });

    const after = applyChange(before, change({ name: 'eu', nodes: [healthy] }, 8, ['pod-c']));

    const eu = after.clusters.find((each) => each.name === 'eu');
    expect(eu?.nodes.map((each) => each.uid)).toEqual(['web', 'set', 'pod-a', 'pod-b', 'service']);
    expect(eu?.nodes[3]?.ready).toBe(1);
    expect(after.version).toBe(8);
    expect(after.clusters[0]).toBe(before.clusters[0]);
  });

  it('takes a cluster that is new', () => {
    const after = applyChange(tree(), change({ name: 'africa', nodes: workload(HEAD) }));

    expect(after.clusters.map((each) => each.name)).toEqual(['asia', 'eu', 'us', 'africa']);
  });

  it('does nothing with what it knows already', () => {
    const before = tree();

    expect(applyChange(before, change({ name: 'eu', nodes: [] }, 7, ['web']))).toBe(before);
  });

  it('keeps a node that came back under its name in the same change', () => {
    const back = node({ uid: 'pod-c', parent: 'set', kind: 'Pod' });

    const after = applyChange(tree(), change({ name: 'eu', nodes: [back] }, 8, ['pod-c']));

    expect(after.clusters[1]?.nodes.filter((each) => each.uid === 'pod-c')).toEqual([back]);
  });
});

describe('branchesOf', () => {
  it('shows what has lost its owner on top, and trouble first', () => {
    const branches = branchesOf([
      node({ uid: 'service', kind: 'Service', name: 'a' }),
      node({ uid: 'pod', parent: 'gone', kind: 'Pod', health: { status: 'degraded', reason: '' } }),
    ]);

    expect(branches.map((branch) => branch.key)).toEqual(['pod', 'service']);
  });

  it('ends where a garbled answer goes in circles', () => {
    const branches = branchesOf([
      node({ uid: 'one', parent: 'other' }),
      node({ uid: 'other', parent: 'one' }),
      node({ uid: 'self', parent: 'self' }),
    ]);

    expect(branches.map((branch) => branch.key)).toEqual(['self']);
  });

  it('opens what needs a look, and what somebody opened', () => {
    const rows = (commit: string, broken: boolean, toggled = new Map<string, boolean>()) =>
      visibleRows(branchesOf(workload(commit, broken)), toggled).map((row) => row.node.uid);

    expect(rows(HEAD, false)).toEqual(['web', 'service']);
    expect(rows(HEAD, true)).toEqual(['web', 'set', 'pod-a', 'pod-b', 'pod-c', 'service']);
    expect(rows(HEAD, true, new Map([['web', false]]))).toEqual(['web', 'service']);
    expect(rows(HEAD, false, new Map([['web', true]]))).toEqual(['web', 'set', 'service']);
  });
});

it('sums objects over clusters, trouble first', () => {
  const [web, service] = sumObjects(tree().clusters);

  expect(web).toMatchObject({
    kind: 'Deployment',
    ready: 7,
    total: 9,
    health: [
      ['degraded', 1],
      ['healthy', 2],
    ],
    clusters: ['asia', 'eu', 'us'],
    drifted: ['eu'],
  });
  expect(web?.troubled.map((place) => place.cluster)).toEqual(['eu']);
  expect(service?.kind).toBe('Service');
});

describe('describeTree', () => {
  it('names the worst cluster and how many more there are', () => {
    const broken = { status: 'degraded', reason: '0 of 1 pods ready' };
    const clusters = [
      cluster({ name: 'eu', total: 1, health: broken }),
      cluster({ name: 'us', total: 1, health: { status: 'missing', reason: '' } }),
      cluster({ name: 'asia', ready: 1, total: 1 }),
    ];

    expect(describeTree(tree({ clusters }))).toBe(
      'eu is degraded: 0 of 1 pods ready; 1 cluster more in trouble; 1 of 3 pods ready on 3 clusters',
    );
  });

  it('is short where all is well', () => {
    expect(describeTree(tree({ clusters: [cluster({ ready: 2, total: 2 })] }))).toBe('2 of 2 pods ready on 1 cluster');
    expect(describeTree(tree({ clusters: [] }))).toBe('It runs nowhere yet');
  });
});
