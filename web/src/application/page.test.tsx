import { screen, waitFor, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { describe, expect, it } from 'vitest';

import { violations } from '../../tests/axe';
import { openScreen, Refusal, type Answers, type Asked } from '../../tests/screen';
import {
  action,
  application,
  BEFORE,
  cluster,
  drift,
  HEAD,
  historyEntry,
  liveObject,
  node,
  tree,
  workload,
} from './application-fixtures';

const BACK = action({
  title: 'Roll back to 7be2104',
  consequence: 'applies commit 7be2104 again; Git stays as it is',
  command: 'volary rollback shop --to run-1',
  body: { to: 'run-1' },
});
const older = historyEntry({
  run: 'run-1',
  commit: BEFORE,
  subject: 'Smaller <i>cart</i>',
  at: '2026-03-01T09:00:00Z',
  started: '2026-03-01T09:00:00Z',
  finished: '2026-03-01T10:00:00Z',
  commitsAfter: [{ commit: BEFORE, clusters: ['eu', 'us'] }],
  rollback: BACK,
});
const refused = historyEntry({
  kind: 'commit',
  run: '',
  commit: 'bad0000000000000000000000000000000000000',
  at: '2026-03-12T13:59:00Z',
  subject: 'Typo',
  by: 'bob',
  status: 'failed',
  reason: 'spec.repicas is no field',
  started: null,
  finished: null,
  commitsAfter: [],
});
const ANSWERS: Answers = {
  'GET /applications/shop': application(),
  'GET /applications/shop/actions': { version: 1, items: [action()] },
  'GET /applications/shop/drift': drift(),
  'GET /applications/shop/tree': tree(),
  'GET /applications/shop/history': { items: [refused, historyEntry(), older], cursor: '' },
  'GET /applications/shop/clusters/eu/object': liveObject(),
};

describe('the application', () => {
  it('says what is the matter first, and breaks no rule of accessibility', async () => {
    const { container } = openScreen('/applications/shop', ANSWERS);

    await screen.findByText(/^eu is degraded: Deployment shop\/web: 1 of 3 pods ready; 7 of 9 pods ready on 3 clusters/);
    const runs = within(screen.getByRole('region', { name: 'Runs' }));
    expect(runs.getByText('on 2 clusters')).toBeTruthy();
    expect(screen.getByText('out of sync in eu: replicas 4, Git 3 (kubectl-scale)')).toBeTruthy();
    expect(await violations(container)).toEqual([]);
  });

  it('shows a run that waits as it is shown elsewhere, and what it brought beside the release', async () => {
    const cause = 'stage 4 of 7, WAIT_APPROVAL: awaiting approval: 0 of 1 (approvers: ana)';
    const beside = (variant: string, commit: string) =>
      node({ uid: variant, name: `web-${variant}`, variant, commit, ready: 1, total: 1 });
    const nodes = [...workload(HEAD), beside('canary', BEFORE), beside('baseline', HEAD)];
    const clusters = [cluster({ nodes })];
    const under = { status: 'running', reason: 'run run-2 is under way there', compared: null, objects: [] };
    openScreen('/applications/shop?tab=drift', {
      ...ANSWERS,
      'GET /applications/shop': application({ status: 'running', runStatus: 'waiting', cause }),
      'GET /applications/shop/tree': tree({ clusters }),
      'GET /applications/shop/drift': drift({ ...under, clusters: [{ name: 'eu', ...under }] }),
    });

    const told = (await screen.findByText(new RegExp('^stage 4 of 7'))).closest('.sentence');
    expect(told?.className).toContain('sentence-wait');
    const runs = within(screen.getByRole('region', { name: 'Runs' }));
    expect((await runs.findAllByText(/on 1 cluster$/)).map((line) => line.textContent)).toEqual([
      'on 1 cluster',
      'as canary on 1 cluster',
    ]);
    // While it is under way nothing is compared, and nobody says of when that would be.
    expect(screen.queryByText(/ompared/)).toBeNull();
  });

  it('does not say that all is as Git says where Git is ahead', async () => {
    const inSync = drift({ status: 'inSync', reason: 'every object is as Git says', clusters: [] });
    openScreen('/applications/shop', {
      ...ANSWERS,
      'GET /applications/shop': application({ head: 'f00dfeed', runningCommit: 'cafebabe' }),
      'GET /applications/shop/drift': inSync,
    });

    const difference = within(await screen.findByRole('region', { name: 'Difference' }));
    expect(await difference.findByText(/every object is as that release says/)).toBeTruthy();
    expect(difference.queryByText(/as Git says/)).toBeNull();
  });

  it('sums objects over clusters, trouble first, and leads to the one in trouble', async () => {
    const user = userEvent.setup();
    const { address } = openScreen('/applications/shop', ANSWERS);

    const table = within(await screen.findByRole('region', { name: 'Objects over all clusters' }));
    const [, first, second] = table.getAllByRole('row');
    expect(first?.textContent).toContain('Deployment shop/web');
    expect(first?.textContent).toContain('7 of 9');
    expect(second?.textContent).toContain('Service shop/web');
    await user.click(within(first as HTMLElement).getAllByRole('button', { name: 'eu' })[0] as HTMLElement);

    expect(await screen.findByRole('complementary')).toBeTruthy();
    expect(address()).toContain('cluster=eu&object=apps%2FDeployment%2Fshop%2Fweb');
  });

  it('shows the tree of a cluster with the events of what is ill, walked by arrows', async () => {
    const user = userEvent.setup();
    const { container, address } = openScreen('/applications/shop?cluster=eu', ANSWERS);

    const items = await screen.findAllByRole('treeitem');
    expect(items.map((item) => item.getAttribute('aria-level'))).toEqual(['1', '2', '3', '3', '3', '1']);
    expect(screen.getAllByText(/Back-off restarting failed container web <b>now<\/b>/)).toHaveLength(2);
    items[0]?.focus();
    await user.keyboard('{ArrowDown}{ArrowLeft}');
    expect(screen.getAllByRole('treeitem')).toHaveLength(3);
    await user.keyboard('{ArrowLeft}{Enter}');

    expect(address()).toContain('object=apps%2FDeployment%2Fshop%2Fweb');
    expect(await violations(container)).toEqual([]);
  });

  it('follows what changes, and goes on from what it has', async () => {
    const change = {
      application: 'shop',
      version: 8,
      cluster: cluster({ name: 'eu', ready: 3, total: 3, nodes: workload(HEAD) }),
      removed: [],
    };
    const { send } = openScreen('/applications/shop', ANSWERS);
    await send('/applications/shop/tree/stream', [{ id: 8, event: 'change', data: change }]);

    expect(await screen.findByText('9 of 9')).toBeTruthy();
  });

  it('shows an object in a drawer that Escape closes', async () => {
    const user = userEvent.setup();
    const { container, address } = openScreen(
      '/applications/shop?cluster=eu&object=apps/Deployment/shop/web&view=diff',
      ANSWERS,
    );

    const drawer = within(await screen.findByRole('complementary'));
    await drawer.findByText('spec.replicas');
    expect(drawer.getByText(/set by kubectl-scale/)).toBeTruthy();
    await user.click(drawer.getByRole('tab', { name: 'Live' }));
    expect(drawer.getByText(/revisionHistoryLimit: 10/)).toBeTruthy();
    expect(await violations(container)).toEqual([]);
    await user.keyboard('{Escape}');

    expect(screen.queryByRole('complementary')).toBeNull();
    expect(address()).toBe('/applications/shop?cluster=eu');
  });

  it('streams the log of a pod', async () => {
    const { asked, send } = openScreen(
      '/applications/shop?cluster=eu&object=apps/Deployment/shop/web&view=logs',
      ANSWERS,
    );
    await send('/applications/shop/clusters/eu/logs/stream', [
      { id: 5, event: 'line', data: { position: 5, at: null, text: '<script>alert(1)</script> started' } },
    ]);

    // Lines are drawn where they are in sight, and jsdom has no sight: that they came is said.
    expect(await screen.findByText(/^1 lines/)).toBeTruthy();
    expect(screen.getByRole('log')).toBeTruthy();
    const log = asked.find(({ path }) => path.endsWith('/logs/stream'));
    expect(log?.query.toString()).toBe('namespace=shop&pod=web-7f9-a');
  });

  it('shows drift with who did it, trouble first', async () => {
    const { container } = openScreen('/applications/shop?tab=drift', ANSWERS);

    const table = await screen.findByRole('table', { name: /spec.replicas/ });
    expect(within(table).getAllByRole('row').map((row) => row.textContent)).toEqual([
      '1−removed: 3',
      '1+added: 4',
    ]);
    expect(screen.getByText(/set by kubectl-scale/)).toBeTruthy();
    expect(screen.getAllByRole('heading', { level: 2 }).map((head) => head.textContent).slice(-2)).toEqual(['eu', 'us']);
    expect(await violations(container)).toEqual([]);
  });

  it('rolls back to a version that ran, after it has said what that means', async () => {
    const user = userEvent.setup();
    const { asked, container } = openScreen('/applications/shop?tab=history', {
      ...ANSWERS,
      'POST /applications/shop/rollback': { run: 'run-3', reason: 'run-3 begins' },
      'POST /applications/shop/rollback/plan': {
        application: 'shop',
        commit: BEFORE,
        subject: 'Smaller cart',
        sentence: '2 of 3 clusters change: us and eu; what changes on asia is not known',
        isKnown: false,
        clusters: [
          { name: 'us', status: 'changes', sentence: '2 changed, 1 pruned' },
          { name: 'asia', status: 'unreachable', sentence: 'not known: no answer for 5 s' },
          { name: 'eu', status: 'changes', sentence: '2 changed, 1 pruned' },
        ],
      },
    });

    expect(await screen.findByText('spec.repicas is no field')).toBeTruthy();
    expect(await violations(container)).toEqual([]);
    await user.click(screen.getByRole('button', { name: 'Roll back to it: 7be2104' }));
    const dialog = within(screen.getByRole('dialog'));
    expect(dialog.getByText('applies commit 7be2104 again; Git stays as it is')).toBeTruthy();
    expect(await dialog.findByText('2 of 3 clusters change: us and eu; what changes on asia is not known')).toBeTruthy();
    expect(within(dialog.getByRole('list')).getAllByRole('listitem').map((line) => line.textContent)).toEqual([
      'us, eu 2 changed, 1 pruned',
      'asia not known: no answer for 5 s',
    ]);
    await user.click(dialog.getByRole('button', { name: 'Roll back to 7be2104' }));

    await waitFor(() => expect(screen.queryByRole('dialog')).toBeNull());
    const sent = asked.filter(({ method }) => method === 'POST');
    expect(sent.map(({ path, body }) => [path, body])).toEqual([
      ['/applications/shop/rollback/plan', { to: 'run-1' }],
      ['/applications/shop/rollback', { to: 'run-1' }],
    ]);
  });

  it('says where it is not known what going back would change, and can be confirmed all the same', async () => {
    const user = userEvent.setup();
    openScreen('/applications/shop?tab=history', {
      ...ANSWERS,
      'POST /applications/shop/rollback/plan': new Refusal(400, 'the repository cannot be read now'),
    });
    await user.click(await screen.findByRole('button', { name: 'Roll back to it: 7be2104' }));

    const dialog = within(screen.getByRole('dialog'));
    expect(await dialog.findByText('What would change is not known: the repository cannot be read now')).toBeTruthy();
    expect(dialog.getByRole('button', { name: 'Roll back to 7be2104' }).getAttribute('aria-disabled')).toBeNull();
  });

  it('goes on reading where the page before it ended, and reads again when something happens', async () => {
    const user = userEvent.setup();
    const { asked, send } = openScreen('/applications/shop?tab=history', {
      ...ANSWERS,
      'GET /applications/shop/history': ({ query }: Asked) =>
        query.get('cursor') === 'next' ? { items: [older], cursor: '' } : { items: [historyEntry()], cursor: 'next' },
    });
    await user.click(await screen.findByRole('button', { name: 'Show older' }));

    expect(await screen.findByRole('button', { name: 'Roll back to it: 7be2104' })).toBeTruthy();
    expect(screen.queryByRole('button', { name: 'Show older' })).toBeNull();
    const reads = () => asked.filter(({ path }) => path === '/applications/shop/history').length;
    const before = reads();
    await send('/events/stream', [{ id: 1, event: 'run-finished', data: { number: 1 } }]);
    await waitFor(() => expect(reads()).toBe(before + 2), { timeout: 5_000 });
  });

  it('keeps a button that cannot be pressed, with the reason', async () => {
    openScreen('/applications/shop?tab=history', {
      ...ANSWERS,
      'GET /applications/shop/history': {
        items: [{ ...older, rollback: { ...BACK, enabled: false, disabledReason: 'you may only look at shop' } }],
        cursor: '',
      },
    });

    const button = await screen.findByRole('button', { name: 'Roll back to it: 7be2104' });
    expect(button.getAttribute('aria-disabled')).toBe('true');
  });

  it('teaches where there is nothing, and says what cannot be read', async () => {
    openScreen('/applications/shop', {
      ...ANSWERS,
      'GET /applications/shop/tree': tree({ clusters: [] }),
      'GET /applications/shop/drift': new Refusal(503, 'no cluster was compared yet'),
    });

    expect(await screen.findByText('volary sync shop')).toBeTruthy();
    expect(screen.getByText('Drift is not known yet')).toBeTruthy();
  });

  it('keeps the windows that were read when they cannot be read again, and says that they may be old', async () => {
    const user = userEvent.setup();
    let isThere = true;
    const closed = {
      since: '2026-03-12T14:00:00Z',
      until: '2026-04-11T14:00:00Z',
      items: [
        {
          application: 'shop',
          wave: 'rest',
          clusters: ['eu'],
          starts: '2026-03-20T00:00:00Z',
          ends: null,
          reason: 'quarter end',
        },
      ],
      omitted: 0,
      unread: [],
      pending: 0,
    };
    openScreen('/applications/shop?tab=windows', {
      ...ANSWERS,
      'GET /calendar': () => (isThere ? closed : new Refusal(400, 'the store cannot be read')),
      'POST /applications/shop/rollback': { run: 'run-3', reason: '' },
    });
    expect(await screen.findByText('quarter end')).toBeTruthy();
    expect(screen.queryByText(/This may be old/)).toBeNull();
    isThere = false;
    // What somebody does has everything read again.
    await user.click(screen.getByRole('button', { name: 'Roll back' }));
    await user.click(within(screen.getByRole('dialog')).getByRole('button', { name: 'Roll back' }));

    expect(await screen.findByText(/This may be old: the store cannot be read/)).toBeTruthy();
    expect(screen.getByText('quarter end')).toBeTruthy();
  });

  it('says of windows that never could be read what went wrong', async () => {
    openScreen('/applications/shop?tab=windows', {
      ...ANSWERS,
      'GET /calendar': new Refusal(400, 'the store cannot be read'),
    });

    expect((await screen.findByRole('alert')).textContent).toContain('the store cannot be read');
    expect(screen.getByRole('button', { name: 'Try again' })).toBeTruthy();
  });

  it('says that there is no such application', async () => {
    openScreen('/applications/none', { 'GET /applications/none': new Refusal(404, 'there is no application none') });

    expect((await screen.findByRole('alert')).textContent).toContain('there is no application none');
  });
});
