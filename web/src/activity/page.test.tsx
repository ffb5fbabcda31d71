import { screen, waitFor, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { describe, expect, it } from 'vitest';

import { violations } from '../../tests/axe';
import { openScreen, Refusal, type Asked } from '../../tests/screen';
import { run } from '../application/application-fixtures';
import { entry, event } from './activity-fixtures';

const XSS = '<img src=x onerror=alert(1)>';
const first = { items: [entry({ document: { reason: XSS } }), entry({ position: 6, by: 'bob', action: 'cluster.drain', application: '', document: { cluster: 'eu' } })], cursor: 'more' };
const second = { items: [entry({ position: 5, at: '2026-03-11T14:00:00Z', action: 'run.approve' })], cursor: '' };
const AUDIT = { 'GET /audit': (asked: Asked) => (asked.query.get('cursor') ? second : first) };

describe('activity', () => {
  it('says who did what, and breaks no rule of accessibility', async () => {
    const { container } = openScreen('/activity?entry=7', AUDIT);

    const lines = await screen.findAllByRole('button', { expanded: true });
    expect(lines.map((line) => line.textContent)).toEqual([expect.stringContaining(`ana paused shop — ${XSS}from 10.0.0.7`)]);
    const changes = within(screen.getByRole('table'));
    expect(changes.getAllByRole('row')[1]?.textContent).toBe('paused–by ana: black friday');
    expect(container.querySelector('img[src="x"]')).toBeNull();
    expect(await violations(container)).toEqual([]);
  });

  it('asks for what the address narrows it to, page by page', async () => {
    const user = userEvent.setup();
    const { asked, address } = openScreen('/activity?application=shop', AUDIT);

    await user.click(await screen.findByRole('button', { name: 'Show older' }));
    expect(await screen.findByText(/ana approved shop/)).toBeTruthy();
    await user.type(screen.getByLabelText('Person'), 'ana');

    expect(address()).toBe('/activity?application=shop&by=ana');
    await screen.findAllByText(/ana paused shop/);
    const queries = () => asked.filter(({ path }) => path === '/audit').map(({ query }) => query);
    await waitFor(() => expect(queries().at(-1)?.get('by')).toBe('ana'));
    expect(queries()[0]?.get('application')).toBe('shop');
    expect(queries()[1]?.get('cursor')).toBe('more');
  });

  it('finds what was done to a cluster', async () => {
    const { asked } = openScreen('/activity?cluster=eu', AUDIT);

    await screen.findByText(/bob drained eu/);
    expect(asked.find(({ path }) => path === '/audit')?.query.get('cluster')).toBe('eu');
  });

  it('tells whoever may not read the audit where else to look', async () => {
    openScreen('/activity', { 'GET /audit': new Refusal(403, 'ana may not administer') });

    expect(await screen.findByText('You may not read the audit')).toBeTruthy();
  });

  it('asks the server for the runs of a cluster, and says so where there are none', async () => {
    const { asked } = openScreen('/activity?tab=runs&cluster=eu&by=ana', { 'GET /runs': { items: [], cursor: '' } });

    expect(await screen.findByText('No run is like that')).toBeTruthy();
    const query = asked.find(({ path }) => path === '/runs')?.query;
    expect([query?.get('cluster'), query?.get('by')]).toEqual(['eu', 'ana']);
  });

  it('lists the runs', async () => {
    const { container } = openScreen('/activity?tab=runs', { 'GET /runs': { items: [run()], cursor: '' } });

    expect((await screen.findByRole('link', { name: 'Bigger cache' })).getAttribute('href')).toBe('/runs/run-2');
    expect(await violations(container)).toEqual([]);
  });

  it('shows what happens now, without what is too fine', async () => {
    const { container, send } = openScreen('/activity?tab=now', {});
    await send('/events/stream', [
      { id: 12, event: 'task-finished', data: event() },
      { id: 13, event: 'task-logged', data: event({ position: 13, event: 'task-logged' }) },
      { id: 14, event: 'run-finished', data: event({ position: 14, event: 'run-finished', document: { status: 'rolled_back' } }) },
    ]);

    await screen.findByText('run finished — rolled back');
    expect(screen.getAllByRole('listitem').map((item) => item.textContent)).toEqual([
      expect.stringContaining('run finished — rolled back'),
      expect.stringContaining('task finished'),
    ]);
    expect(await violations(container)).toEqual([]);
  });
});
