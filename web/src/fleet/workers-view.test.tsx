import { screen, waitFor, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { describe, expect, it } from 'vitest';

import { violations } from '../../tests/axe';
import { openScreen, Refusal, type Answers } from '../../tests/screen';
import { agent, cluster, queue, server, worker } from './fleet-fixtures';

const us = cluster({ name: 'us', region: 'us', agent: true });
const lost = agent({
  name: 'us',
  status: 'disconnected',
  reason: '<b>its connection ended</b>',
  policy: ['reads everything but Secrets', 'K8S_SYNC of shop*'],
});
const idle = worker({ name: 'spare', status: 'idle', reason: 'no process of it takes tasks', processes: [] });
const taken = queue({ takers: [{ name: 'worker hands 7@host', seen: '2026-03-12T14:00:00Z' }] });
const page = <Item,>(...items: Item[]) => ({ items, cursor: '' });
const ANSWERS: Answers = {
  'GET /clusters': page(cluster(), us),
  'GET /runs': page(),
  'GET /clusters/us/actions': { version: 0, items: [] },
  'GET /clusters/us/applications': page(),
  'GET /servers': page(server({ name: 'volary-1' }), server({ name: 'volary-2', isLeader: true })),
  'GET /agents': page(lost),
  'GET /workers': page(worker(), idle),
  'GET /task-queues': page(
    queue({ cluster: 'asia', apart: false, takers: [{ name: 'server 7@volary-2', seen: '2026-03-12T14:00:00Z' }] }),
    taken,
    queue({ cluster: 'us', reason: 'nobody takes tasks of us' }),
  ),
};
const NOT_FOR_YOU = new Refusal(403, 'ana may not administer');
const AWAY = new Refusal(503, 'Temporal does not answer');
const rowsOf = (name: string) =>
  within(within(screen.getByRole('region', { name })).getByRole('table'))
    .getAllByRole('row')
    .slice(1)
    .map((row) => row.textContent);

describe('who works here', () => {
  it('shows trouble first, and breaks no rule of accessibility', async () => {
    const { container } = openScreen('/fleet?tab=workers', ANSWERS);

    await screen.findByText(
      '1 of 1 agents needs a look; us is disconnected: <b>its connection ended</b>; nobody takes tasks of us; volary-2 leads, and 1 stands by',
    );
    expect(rowsOf('Servers 2').map((row) => row?.slice(0, 13))).toEqual(['volary-2leads', 'volary-1stand']);
    expect(rowsOf('Agents 1')).toHaveLength(1);
    expect(rowsOf('Who takes tasks').map((row) => row?.slice(0, 11))).toEqual(['usnot taken', 'eu-westtake']);
    const left = within(screen.getByRole('region', { name: 'Who takes tasks' }));
    expect(left.getByText('taken by server 7@volary-2').textContent).toBe('1 cluster: taken by server 7@volary-2');
    expect(rowsOf('Workers 2').map((row) => row?.slice(0, 19))).toEqual(['sparetakes no tasks', 'handstakes taskseu-']);
    expect(screen.getByText('no process of it takes tasks')).toBeTruthy();
    expect(await violations(container)).toEqual([]);
  });

  it('is reached from the clusters by keyboard, and opens a cluster beside itself', async () => {
    const user = userEvent.setup();
    const { address } = openScreen('/fleet', ANSWERS);

    (await screen.findByRole('tab', { name: 'Clusters' })).focus();
    await user.keyboard('{ArrowRight}');
    expect(address()).toBe('/fleet?tab=workers');
    const agents = within(await screen.findByRole('region', { name: 'Agents 1' }));
    agents.getByRole('button', { name: 'us' }).focus();
    await user.keyboard('{Enter}');

    expect(address()).toBe('/fleet?tab=workers&cluster=us');
    const drawer = within(await screen.findByRole('complementary'));
    expect(drawer.getByText('K8S_SYNC of shop*')).toBeTruthy();
  });

  it('tells a viewer what is for administrators, and asks no second time', async () => {
    const user = userEvent.setup();
    const { asked } = openScreen('/fleet?tab=workers', { ...ANSWERS, 'GET /agents': NOT_FOR_YOU });

    await screen.findByText('You may not see this: ana may not administer');
    expect(screen.getByText(/^nobody takes tasks of us; volary-2 leads/)).toBeTruthy();
    await user.click(screen.getByRole('tab', { name: 'Clusters' }));
    await screen.findByText('through its agent');
    expect(asked.filter(({ path }) => path === '/agents')).toHaveLength(1);
  });

  it('says once that nothing of it may be seen', async () => {
    openScreen('/fleet?tab=workers', {
      ...ANSWERS,
      'GET /agents': NOT_FOR_YOU,
      'GET /servers': NOT_FOR_YOU,
      'GET /workers': NOT_FOR_YOU,
      'GET /task-queues': NOT_FOR_YOU,
    });

    expect(await screen.findByText('You may not see who works here')).toBeTruthy();
  });

  it('teaches where there are no agents and no clusters', async () => {
    openScreen('/fleet?tab=workers', {
      ...ANSWERS,
      'GET /clusters': page(cluster()),
      'GET /agents': page(),
      'GET /workers': page(),
      'GET /task-queues': page(),
    });

    expect(await screen.findByText('No cluster is reached through an agent')).toBeTruthy();
    expect(await screen.findByText('volary cluster join NAME')).toBeTruthy();
    expect(await screen.findByText('No cluster is registered yet')).toBeTruthy();
    expect(screen.queryByRole('region', { name: /^Workers/ })).toBeNull();
  });

  it('reads what failed again when asked, beside what is known', async () => {
    const user = userEvent.setup();
    let failing = true;
    openScreen('/fleet?tab=workers', {
      ...ANSWERS,
      'GET /task-queues': () => (failing ? new Refusal(500, 'this cannot be answered') : page(taken)),
    });

    const tasks = within(await screen.findByRole('region', { name: 'Who takes tasks' }));
    expect(await tasks.findByText('this cannot be answered')).toBeTruthy();
    expect(rowsOf('Servers 2')).toHaveLength(2);
    failing = false;
    await user.click(tasks.getByRole('button', { name: 'Try again' }));

    expect(await tasks.findByText('worker hands 7@host')).toBeTruthy();
  });
});

describe('a cluster that is reached through its agent', () => {
  it('says how its agent is in its tile and beside it', async () => {
    const { container } = openScreen('/fleet?cluster=us', ANSWERS);

    expect(await screen.findByText('agent disconnected')).toBeTruthy();
    const drawer = within(screen.getByRole('complementary'));
    expect(await drawer.findByText('<b>its connection ended</b>')).toBeTruthy();
    expect(drawer.getByText(/^version 0.1.0, seen/)).toBeTruthy();
    expect(drawer.getByText('reads everything but Secrets')).toBeTruthy();
    expect(await drawer.findByText('nobody takes tasks of us')).toBeTruthy();
    expect(await violations(container)).toEqual([]);
  });

  it('says who waits for whom where none has joined', async () => {
    openScreen('/fleet?cluster=us', { ...ANSWERS, 'GET /agents': page(), 'GET /task-queues': AWAY });

    expect(await screen.findByText('agent not joined')).toBeTruthy();
    expect(await screen.findByText('none has joined: volary cluster join us')).toBeTruthy();
    expect(await screen.findByText('Temporal does not answer')).toBeTruthy();
  });

  it('says to a viewer that there is an agent, and why no more', async () => {
    openScreen('/fleet?cluster=us', { ...ANSWERS, 'GET /agents': NOT_FOR_YOU, 'GET /task-queues': NOT_FOR_YOU });

    expect(await screen.findByText('through its agent')).toBeTruthy();
    expect(await screen.findByText('How the agent is you may not see: ana may not administer')).toBeTruthy();
    expect(screen.queryByText('Who takes its tasks')).toBeNull();
  });

  it('is not asked about where no cluster has one', async () => {
    const { asked } = openScreen('/fleet', { ...ANSWERS, 'GET /clusters': page(cluster()) });

    await screen.findByRole('button', { name: /^eu-west/ });
    await waitFor(() => expect(asked.some(({ path }) => path === '/runs')).toBe(true));
    expect(asked.filter(({ path }) => path === '/agents')).toEqual([]);
  });
});
