import { fireEvent, screen, waitFor, within } from '@testing-library/react';
import { afterEach, expect, test, vi } from 'vitest';

import { violations } from '../../tests/axe';
import { applicationRow, attention, overview } from '../../tests/fixtures/overview';
import { Api, Refusal, show, type Asked } from '../../tests/screen';
import { destinationOf } from './attention';
import { placeSentence, placeState, rowColours } from './rows';

afterEach(() => void vi.unstubAllGlobals());

const rows = (count: number) => Array.from({ length: count }, (_, place) => applicationRow(place));

function api(changes: Record<string, unknown> = {}): Api {
  return new Api({
    '/overview': overview(3),
    '/overview/applications': { items: rows(3), cursor: '' },
    ...changes,
  });
}

test('what needs a person comes first, with the sentence and where it leads', async () => {
  api();
  show('/');

  const section = await screen.findByRole('region', { name: /Needs you/ });
  const items = within(section).getAllByRole('listitem');

  expect(items.map((item) => within(item).getByRole('link').textContent)).toEqual([
    'Review shop',
    'Open payments',
    'Diff search',
    'Open eu-west-007',
  ]);
  expect(items[1]?.textContent).toContain('rolled back: errors 4.1 % vs 0.2 % in asia');
});

test('nobody stumbles over the overview', async () => {
  api();
  const { container } = show('/');
  await screen.findByText('shop-0');

  expect(await violations(container)).toEqual([]);
});

test('texts of users are text', async () => {
  const evil = '<img src=x onerror="document.title=\'owned\'">';
  api({ '/overview': { ...overview(1), attention: [attention('failed', { sentence: evil, application: evil })] } });
  const { container } = show('/');

  expect((await screen.findAllByText(evil)).length).toBeGreaterThan(0);
  expect(container.querySelector('img[src="x"]')).toBeNull();
});

test('filters are in the address, and the server narrows', async () => {
  const asked: Asked[] = [];
  api({
    '/overview/applications': (request: Asked) => {
      asked.push(request);
      return { items: rows(3), cursor: '' };
    },
  });
  const { address } = show('/?project=retail');
  const field = await screen.findByRole('searchbox', { name: 'Search applications' });

  fireEvent.change(field, { target: { value: 'shop' } });

  await waitFor(() => expect(address()).toBe('/?project=retail&search=shop'));
  await waitFor(() => expect(asked.at(-1)?.query.get('search')).toBe('shop'));
  expect(asked.at(-1)?.query.get('project')).toBe('retail');
});

test('of a thousand applications only those in sight are there', async () => {
  api({ '/overview/applications': { items: rows(1000), cursor: '' } });
  show('/');
  await screen.findByText('shop-0');

  const table = screen.getByRole('table', { name: 'Applications' });
  expect(table.getAttribute('aria-rowcount')).toBe('1001');
  expect(within(table).getAllByRole('row').length).toBeLessThan(60);
});

test('an empty fleet says what fills the page', async () => {
  api({
    '/overview': { ...overview(0), attention: [], running: [] },
    '/overview/applications': { items: [], cursor: '' },
  });
  show('/');

  expect(await screen.findByText('There is no application yet')).toBeTruthy();
  expect(screen.getByText('Nothing waits for a person.')).toBeTruthy();
});

test('a refusal is shown in the words of the server', async () => {
  api({ '/overview': new Refusal(403, 'a role is needed', 'ask an administrator') });
  show('/');

  const alert = await screen.findByRole('alert');
  expect(alert.textContent).toContain('a role is needed');
  expect(alert.textContent).toContain('ask an administrator');
});

test('one release has no colours; of several each has its own, in every place the same', () => {
  const place = { clusters: 2, current: 2, health: 'healthy', drift: 'inSync' };
  const row = {
    ...applicationRow(1),
    runningCommit: 'b',
    places: [
      { ...place, place: 'dev', commits: ['a'] },
      { ...place, place: 'eu', commits: ['b', 'a'] },
    ],
  };

  expect([...rowColours(row)]).toEqual([
    ['b', 1],
    ['a', 2],
  ]);
  expect([...rowColours({ ...row, places: [{ ...place, place: 'eu', commits: ['b'] }] })]).toEqual([]);
});

test('an application whose run waits looks as its run does', async () => {
  api({ '/overview/applications': { items: [applicationRow(4), applicationRow(1)], cursor: '' } });
  show('/');

  const waiting = await screen.findByRole('rowheader', { name: /catalog-4/ });
  expect(within(waiting).getByRole('img', { name: 'waiting' })).toBeTruthy();
  const calm = screen.getByRole('rowheader', { name: /payments-1/ });
  expect(within(calm).getByRole('img', { name: 'synced' })).toBeTruthy();
});

test('a place says in words what its colours say', () => {
  const place = { place: 'eu', commits: ['a91f3c7be', '7be21054f'], clusters: 12, current: 8, health: 'degraded', drift: 'outOfSync' };

  expect(placeSentence(place)).toBe('a91f3c7 in 8 of 12; besides 7be2105; degraded; out of sync');
});

test('what is about a cluster leads to the fleet', () => {
  expect(destinationOf(attention('clusterNotReady', { application: '', clusters: ['eu'] }))).toMatchObject({
    to: 'cluster',
    cluster: 'eu',
  });
});

test.each([
  ['healthy', 'inSync', 'healthy'],
  ['healthy', 'unknown', ''],
  ['healthy', 'outOfSync', 'outOfSync'],
  ['progressing', 'inSync', 'progressing'],
  ['degraded', 'outOfSync', 'degraded'],
  ['unknown', 'unknown', 'unknown'],
])('a place that is %s and %s shows “%s”', (health, drift, shown) => {
  expect(placeState({ place: 'eu', commits: ['a91f3c0'], clusters: 1, current: 1, health, drift })).toBe(shown);
});
