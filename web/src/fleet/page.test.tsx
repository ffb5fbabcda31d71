import { screen, waitFor, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { describe, expect, it } from 'vitest';

import { violations } from '../../tests/axe';
import { openScreen, type Answers } from '../../tests/screen';
import { action } from '../application/application-fixtures';
import { cluster, CORDON } from './fleet-fixtures';

const lost = cluster({ name: 'asia', region: 'asia', status: 'unreachable', reason: '<b>refused</b>' });
const closed = cluster({ name: 'eu-east', schedulable: false, taints: [{ ...CORDON, key: 'example.com/gpu' }] });
const path = '/api/v1/clusters/eu-east';
const drain = action({
  verb: 'drain',
  title: 'Drain',
  noun: 'cluster',
  path: `${path}/drain`,
  consequence: 'nothing new begins on eu-east, and the 4 applications there move to other clusters',
  reasonField: 'reason',
  command: 'volary cluster drain eu-east',
});
const untaint = action({
  verb: 'untaint',
  title: 'Remove taint example.com/gpu:NoSchedule',
  path: `${path}/untaint`,
  body: { key: 'example.com/gpu', effect: 'NoSchedule' },
  consequence: 'applications that do not tolerate it may come again',
});
const ANSWERS: Answers = {
  'GET /clusters': { items: [cluster(), closed, lost], cursor: '' },
  'GET /runs': { items: [], cursor: '' },
  'GET /clusters/eu-east/actions': { version: 0, items: [drain, untaint] },
  'GET /clusters/eu-east/applications': {
    items: [
      { name: 'shop', project: '', status: 'synced', reason: '', commit: 'a91f3c0', completed: '', missing: '', leaving: 'cluster drained by ana', run: '' },
    ],
    cursor: '',
  },
};

describe('the fleet', () => {
  it('says why nothing is known of what clusters are made of', async () => {
    const factsMissing = 'this server is on standby';
    const blank = { facts: null, factsMissing };
    openScreen('/fleet', { ...ANSWERS, 'GET /clusters': { items: [cluster(blank), cluster({ ...blank, name: 'us' })], cursor: '' } });

    expect(await screen.findByText(factsMissing)).toBeTruthy();
    expect(screen.getAllByText('version not known')).toHaveLength(2);
    expect(screen.getAllByText('4 applications')).toHaveLength(2);
  });

  it('shows what is lost first, and breaks no rule of accessibility', async () => {
    const { container } = openScreen('/fleet', ANSWERS);

    await screen.findByText('1 of 3 clusters needs a look; asia is unreachable: <b>refused</b>; 1 takes nothing new');
    const tiles = screen.getAllByRole('listitem').map((tile) => tile.textContent?.slice(0, 15));
    expect(tiles.map((tile) => tile?.startsWith('asia'))).toEqual([true, false, false]);
    expect(screen.getAllByText('v1.36.0')).toHaveLength(3);
    expect(screen.getAllByText('4 applications')).toHaveLength(3);
    expect(await violations(container)).toEqual([]);
  });

  it('narrows by what the address says', async () => {
    openScreen('/fleet?state=unreachable', ANSWERS);

    expect(await screen.findByText(/1 of 3, observed/)).toBeTruthy();
    expect(screen.getAllByRole('listitem')).toHaveLength(1);
  });

  it('says what a drain moves before it is done, and sends the reason once', async () => {
    const user = userEvent.setup();
    const { asked, container } = openScreen('/fleet?cluster=eu-east', {
      ...ANSWERS,
      'POST /clusters/eu-east/drain': closed,
    });

    const drawer = within(await screen.findByRole('complementary'));
    expect(await drawer.findByText('cluster drained by ana')).toBeTruthy();
    expect(await violations(container)).toEqual([]);
    await user.click(await drawer.findByRole('button', { name: 'Drain' }));
    const dialog = within(screen.getByRole('dialog'));
    expect(dialog.getByText(/the 4 applications there move/)).toBeTruthy();
    await user.type(dialog.getByRole('textbox'), 'upgrade');
    await user.dblClick(dialog.getByRole('button', { name: 'Drain' }));

    await waitFor(() => expect(screen.queryByRole('dialog')).toBeNull());
    const sent = asked.filter(({ method }) => method === 'POST');
    expect(sent.map(({ path, body }) => [path, body])).toEqual([['/clusters/eu-east/drain', { reason: 'upgrade' }]]);
  });

  it('taints with a consequence', async () => {
    const user = userEvent.setup();
    openScreen('/fleet?cluster=eu-east', ANSWERS);

    const drawer = within(await screen.findByRole('complementary'));
    await drawer.findByRole('button', { name: 'Remove taint example.com/gpu:NoSchedule' });
    await user.click(drawer.getByText('Add a taint'));
    await user.type(drawer.getByLabelText('Key'), 'example.com/old');
    await user.selectOptions(drawer.getByLabelText('Effect'), 'NoExecute');
    await user.click(drawer.getByRole('button', { name: 'Taint…' }));

    expect(screen.getByText(/^example.com\/old:NoExecute on eu-east: nothing new begins there, and what runs there/)).toBeTruthy();
  });

  it('draws the waves of a run over the clusters', async () => {
    const stage = (wave: string, status: string, target: string) => ({ id: wave, name: wave, wave, status, tasks: [{ target }] });
    openScreen('/fleet?wave=run-1', {
      ...ANSWERS,
      'GET /runs/run-1': {
        summary: { application: 'shop' },
        stages: [stage('first', 'succeeded', 'eu-west'), stage('second', 'pending', 'asia')],
      },
    });

    const legend = within(await screen.findByRole('list', { name: 'Waves' }));
    expect(legend.getAllByRole('listitem').map((item) => item.textContent)).toEqual([
      'wave 1, donefirst1 cluster, done',
      'wave 2, to comesecond1 cluster, to come',
    ]);
    const tile = screen.getByRole('button', { name: /^eu-west/ });
    expect(tile.textContent).toContain('wave 1, done');
  });

  it('teaches where there is no cluster', async () => {
    openScreen('/fleet', { ...ANSWERS, 'GET /clusters': { items: [], cursor: '' } });

    expect(await screen.findByText('volary server --fleet fleet.yaml')).toBeTruthy();
  });
});
