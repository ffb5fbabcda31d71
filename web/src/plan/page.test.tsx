import { screen, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { describe, expect, it } from 'vitest';

import { violations } from '../../tests/axe';
import { openScreen, Refusal } from '../../tests/screen';
import { plan, plannedCluster, plannedGroup, plannedObject } from './plan-fixtures';

const image = {
  path: ['spec', 'template', 'spec', 'containers', 0, 'image'],
  operation: 'change',
  old: 'shop:v1',
  new: 'shop:v2',
};
const secret = { path: ['data', 'password'], operation: 'change', old: '*****', new: '*****' };
const web = plannedObject({ differences: [image] });
const clusters = [
  plannedCluster({ name: 'eu', changed: 2, objects: [web, plannedObject({ object: ':Secret:shop:login', differences: [secret] })] }),
  plannedCluster({ name: 'us', changed: 1, objects: [web] }),
  plannedCluster({ name: 'asia', status: 'unreachable', unreachableReason: 'no route to host' }),
];
const PLAN = 'POST /applications/shop/plan';
const variation = {
  object: 'apps:Deployment:shop:web',
  sentence: 'spec.replicas: 2 on eu, 9 on us',
  places: ['spec.replicas'],
  sides: [
    { cluster: 'eu', action: 'changed', values: ['2'] },
    { cluster: 'us', action: 'changed', values: ['9'] },
  ],
  omittedPlaces: 3,
  omittedSides: 0,
};
const answers = {
  [PLAN]: plan({ clusters, variations: [variation], failed: true, subject: '<img src=x onerror=alert(1)>' }),
};

describe('the plan', () => {
  it('says what would change, trouble first, and breaks no rule of accessibility', async () => {
    const { container } = openScreen('/applications/shop/plan?commit=a91f3c', answers);

    await screen.findByText('2 of 3 clusters would change, 1 of 3 clusters could not be asked');
    const groups = within(screen.getByRole('navigation', { name: /would do the same/ }));
    expect(groups.getAllByRole('button').map((button) => button.textContent)).toEqual([
      '1 cluster: could not be askedasia',
      '1 cluster: 2 changedeu',
      '1 cluster: 1 changedus',
      'What differs between clusters1 object',
    ]);
    expect(screen.getByText('no route to host')).toBeTruthy();
    expect(await violations(container)).toEqual([]);
  });

  it('keeps in the address which clusters are looked at, and how', async () => {
    const user = userEvent.setup();
    const { address } = openScreen('/applications/shop/plan', answers);

    await user.click(await screen.findByRole('button', { name: /eu$/ }));
    await user.click(screen.getByRole('button', { name: 'Side by side' }));

    expect(screen.getByText('secret, changed')).toBeTruthy();
    expect(screen.queryByText(/\*\*\*\*\*/)).toBeNull();
    expect(address()).toBe('/applications/shop/plan?group=eu&mode=split');
  });

  it('shows what would be created whole, as the group of its cluster has it', async () => {
    const created = plannedObject({ object: ':ConfigMap:shop:flags', action: 'created' });
    const diff = { object: created.object, action: 'created', diff: '--- before\n+++ after\n@@ -0,0 +1 @@\n+kind: <b>Flags</b>', omitted: 7 };
    const us = plannedCluster({ name: 'us', created: 1, objects: [created] });
    openScreen('/applications/shop/plan', {
      [PLAN]: plan({ clusters: [us], groups: [plannedGroup(us, { diffs: [diff] })] }),
    });

    expect((await screen.findByRole('table')).textContent).toContain('kind: <b>Flags</b>');
    expect(screen.getByText('1 line')).toBeTruthy();
    expect(screen.getByText('7 more lines')).toBeTruthy();
  });

  it('shows what would go, line by line', async () => {
    const pruned = plannedObject({ object: ':Secret:shop:old', action: 'pruned' });
    const diff = { object: pruned.object, action: 'pruned', diff: "@@ -1,2 +0,0 @@\n-data:\n-  key: '*****'", omitted: 0 };
    const us = plannedCluster({ name: 'us', pruned: 1, objects: [pruned] });
    openScreen('/applications/shop/plan', {
      [PLAN]: plan({ clusters: [us], groups: [plannedGroup(us, { diffs: [diff] })] }),
    });

    expect((await screen.findByRole('table')).textContent).toContain("key: '*****'");
    expect(screen.getByText('2 lines')).toBeTruthy();
  });

  it('lays side by side what differs between clusters, as the server found it', async () => {
    const { container } = openScreen('/applications/shop/plan?group=~', answers);

    const table = await screen.findByRole('table');
    expect(within(table).getAllByRole('row').map((row) => row.textContent)).toEqual([
      'Placeeuus',
      'the objectchangedchanged',
      'spec.replicas29',
    ]);
    expect(screen.getByText('Not shown: 3 more places')).toBeTruthy();
    expect(await violations(container)).toEqual([]);
  });

  it('opens what a link names', async () => {
    openScreen('/applications/shop/plan?group=us&mode=split', answers);

    const table = await screen.findByRole('table');
    expect(within(table).getAllByRole('columnheader').map((head) => head.textContent)).toEqual(['before', 'after']);
  });

  it('plans what is typed', async () => {
    const user = userEvent.setup();
    const { asked, address } = openScreen('/applications/shop/plan', answers);

    await user.type(await screen.findByLabelText('Commit'), '7be210{Enter}');

    await screen.findByText(/2 of 3 clusters/);
    expect(address()).toBe('/applications/shop/plan?commit=7be210');
    expect(asked.filter(({ method }) => method === 'POST').map(({ body }) => body)).toEqual([
      { commit: '', strategy: '' },
      { commit: '7be210', strategy: '' },
    ]);
  });

  it('shows texts of others as text', async () => {
    const { container } = openScreen('/applications/shop/plan', answers);

    await screen.findByText(/<img src=x/);
    expect(container.querySelector('img[src="x"]')).toBeNull();
  });

  it('says why a commit cannot be planned, and keeps what was typed', async () => {
    openScreen('/applications/shop/plan?commit=nonsense', {
      [PLAN]: new Refusal(409, 'there is no commit nonsense', 'fetch first'),
    });

    expect((await screen.findByRole('alert')).textContent).toContain('there is no commit nonsense');
    expect(screen.getByText('fetch first')).toBeTruthy();
    expect(screen.getByLabelText<HTMLInputElement>('Commit').value).toBe('nonsense');
  });
});
