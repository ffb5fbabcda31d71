import { act, fireEvent, screen, waitFor, within } from '@testing-library/react';
import { afterEach, expect, test, vi } from 'vitest';

import { violations } from '../../tests/axe';
import { action, actions, analysis, bigRun, iso, marks, smallRun, traffic } from '../../tests/fixtures/run';
import type { Action } from '../api/types';
import { Api, Refusal, show, type Asked } from '../../tests/screen';

afterEach(() => void vi.unstubAllGlobals());

const RUN = '/runs/r-20260312-1';
const CLUSTERS = ['eu-west', 'us-east', 'asia'];

function api(changes: Record<string, unknown> = {}): Api {
  return new Api({
    [RUN]: smallRun(),
    [`${RUN}/actions`]: actions(),
    [`${RUN}/analysis`]: analysis(CLUSTERS),
    [`${RUN}/traffic`]: traffic(CLUSTERS),
    [`${RUN}/events`]: { items: [], cursor: '' },
    [`${RUN}/marks`]: marks(),
    '/applications/shop': { run: 'r-20260312-1', cause: 'eu-west: 2 of 3 pods ready; ImagePullBackOff' },
    ...changes,
  });
}

test('the first line is the cause, as it was seen', async () => {
  api();
  show(RUN);

  expect(await screen.findByText('eu-west: 2 of 3 pods ready; ImagePullBackOff')).toBeTruthy();
});

test('nobody stumbles over the matrix, nor over an open cell', async () => {
  api();
  const { container } = show(`${RUN}?stage=1-K8S_CANARY_ROLLOUT&cluster=eu-west&tab=events`);
  await screen.findByRole('grid');
  await screen.findByText('Nothing has happened here yet');

  expect(await violations(container)).toEqual([]);
});

test('a cell changes where it stands when something happens', async () => {
  const server = api();
  show(RUN);
  const grid = await screen.findByRole('grid');
  await waitFor(() => expect(server.follows(`${RUN}/events/stream`)).toBe(true));

  act(() =>
    server.send(`${RUN}/events/stream`, 41, 'task-progressed', {
      number: 41,
      at: iso(60),
      stage: '1-K8S_CANARY_ROLLOUT',
      target: 'eu-west',
      attempt: 1,
      sentence: '3 of 3 pods ready',
      ready: 3,
      total: 3,
    }),
  );

  await waitFor(() => expect(within(grid).getByText('3/3')).toBeTruthy());
});

test('it goes on from the last event that the run knew', async () => {
  const server = api();
  show(RUN);
  await waitFor(() => expect(server.follows(`${RUN}/events/stream`)).toBe(true));

  const asked = server.asked.find((each) => each.path === `${RUN}/events/stream`);
  expect(asked?.headers.get('last-event-id')).toBe('40');
});

test('arrows walk from cell to cell, Enter opens, Escape closes, and the address says which', async () => {
  api();
  const { address } = show(RUN);
  const grid = await screen.findByRole('grid');
  grid.focus();

  fireEvent.keyDown(grid, { key: 'ArrowDown' });
  fireEvent.keyDown(grid, { key: 'ArrowDown' });
  fireEvent.keyDown(grid, { key: 'Enter' });
  await waitFor(() => expect(address()).toBe(`${RUN}?stage=1-K8S_CANARY_ROLLOUT&cluster=eu-west`));
  const drawer = await screen.findByRole('complementary');
  expect(drawer.textContent).toContain('2 of 3 pods ready');

  fireEvent.keyDown(grid, { key: 'ArrowDown' });
  await waitFor(() => expect(address()).toContain('cluster=us-east'));
  fireEvent.keyDown(grid, { key: 'Escape' });
  await waitFor(() => expect(address()).toBe(RUN));
  expect(document.activeElement).toBe(grid);
});

test('a button that cannot be pressed is there and says why', async () => {
  api();
  show(RUN);
  const approve = await screen.findByRole('button', { name: 'Approve' });

  expect(approve.getAttribute('aria-disabled')).toBe('true');
  fireEvent.click(approve);
  expect(screen.queryByRole('dialog')).toBeNull();
  fireEvent.focus(approve);
  expect((await screen.findAllByText('nothing waits for approval')).length).toBeGreaterThan(0);
});

test('a key without anything to do says so', async () => {
  api();
  show(RUN);
  await screen.findByRole('button', { name: 'Approve' });

  fireEvent.keyDown(document.body, { key: 'a' });

  expect(await screen.findByText('Approve: nothing waits for approval')).toBeTruthy();
});

test('it says what will happen, asks for the reason, and is sent once', async () => {
  const sent: Asked[] = [];
  let release: (value: unknown) => void = () => undefined;
  api({
    [`POST ${RUN}/skip`]: (asked: Asked) => {
      sent.push(asked);
      return new Promise((resolve) => {
        release = resolve;
      });
    },
  });
  show(`${RUN}?stage=1-K8S_CANARY_ROLLOUT&cluster=eu-west`);
  fireEvent.click(await screen.findByRole('button', { name: 'Skip eu-west' }));
  const dialog = await screen.findByRole('dialog');
  expect(dialog.textContent).toContain('the run goes on without eu-west, which stays at 7be2105');
  expect(dialog.textContent).toContain('volary skip shop');

  const confirm = within(dialog).getByRole('button', { name: 'Skip eu-west' });
  fireEvent.click(confirm);
  expect(sent.length).toBe(0);

  fireEvent.change(within(dialog).getByLabelText('Reason'), { target: { value: 'broken disk' } });
  fireEvent.click(confirm);
  fireEvent.click(confirm);
  await waitFor(() => expect(sent.length).toBe(1));
  release({ run: 'r-20260312-1', reason: 'eu-west is skipped' });

  expect(await screen.findByText('Skip eu-west: eu-west is skipped')).toBeTruthy();
  expect(sent.length).toBe(1);
  expect(sent[0]?.body).toEqual({
    seen: { stage: '1-K8S_CANARY_ROLLOUT', group: '', version: 3 },
    reason: 'broken disk',
  });
  expect(sent[0]?.headers.get('x-csrf-token')).toBe('csrf-1');
  expect(sent[0]?.headers.get('idempotency-key')).toMatch(/^[\x21-\x7e]{8,200}$/);
});

test('what the run has left behind is refused, and what was typed stays', async () => {
  api({
    [`${RUN}/actions`]: { version: 9, items: [action('pause', { reasonField: 'reason' })] },
    [`POST ${RUN}/pause`]: new Refusal(409, 'the run has moved on', 'look again'),
  });
  show(RUN);
  fireEvent.click(await screen.findByRole('button', { name: 'Pause' }));
  const dialog = await screen.findByRole('dialog');
  fireEvent.change(within(dialog).getByLabelText(/Reason/), { target: { value: 'lunch' } });
  fireEvent.click(within(dialog).getByRole('button', { name: 'Pause' }));

  expect((await within(dialog).findByRole('alert')).textContent).toContain('the run has moved on');
  expect(within(dialog).getByLabelText<HTMLTextAreaElement>(/Reason/).value).toBe('lunch');
});

test('the log shows lines as text and says how many are new when it is paused', async () => {
  const server = api();
  show(`${RUN}?stage=1-K8S_CANARY_ROLLOUT&cluster=eu-west&tab=log`);
  const path = `${RUN}/logs/stream`;
  await waitFor(() => expect(server.follows(path)).toBe(true));
  const line = (position: number) => ({ position, at: iso(position), level: 'info', text: `<b>${position}</b>`, stage: '', target: '', attempt: 1 });

  server.send(path, 1, 'line', line(1));
  expect(await screen.findByText('<b>1</b>')).toBeTruthy();
  fireEvent.click(screen.getByRole('button', { name: 'Pause', pressed: true }));
  server.send(path, 2, 'line', line(2));
  server.send(path, 3, 'line', line(3));

  expect(await screen.findByRole('button', { name: /2 new lines/ })).toBeTruthy();
});

test('of six thousand cells only those in sight are there, with a map of all of them', async () => {
  api({ [RUN]: bigRun(500) });
  const { container } = show(RUN);
  const grid = await screen.findByRole('grid');

  expect(grid.getAttribute('aria-colcount')).toBe('14');
  expect(container.querySelectorAll('.matrix-cell').length).toBeLessThan(700);
  expect(container.querySelector('.heat-strip path.heat-bad')?.getAttribute('d')).not.toBe('');
});

test('a page that is printed has every cell', async () => {
  api({ [RUN]: bigRun(100) });
  const { container } = show(RUN);
  await screen.findByRole('grid');
  const before = container.querySelectorAll('.matrix-row').length;

  fireEvent(window, new Event('beforeprint'));

  expect(before).toBeLessThan(100);
  const printed = container.querySelectorAll('.matrix-row').length;
  expect(printed).toBeGreaterThanOrEqual(100);
  fireEvent(window, new Event('afterprint'));
  await waitFor(() => expect(container.querySelectorAll('.matrix-row').length).toBe(before));
});

test('the slider shows the matrix as it was', async () => {
  api();
  show(RUN);
  const slider = await screen.findByRole('slider', { name: 'Show the matrix as it was' });
  const grid = screen.getByRole('grid');
  expect(within(grid).getByRole('gridcell', { name: 'us-east, canary: done, 12 s' })).toBeTruthy();

  fireEvent.change(slider, { target: { value: '0' } });

  await waitFor(() => expect(within(grid).getByRole('gridcell', { name: 'us-east, canary: pending' })).toBeTruthy());
});

test('a run that there is not says so', async () => {
  api({ [RUN]: new Refusal(404, 'there is no run r-20260312-1') });
  show(RUN);

  expect((await screen.findByRole('alert')).textContent).toContain('there is no run');
});

const waitsFor = (stage: string, version: number) => ({ seen: { stage, group: '', version } });

/** Opens the question about an approval, and shows what happens to it meanwhile. */
async function asked(first: Action) {
  let known: Action = first;
  const sent: Asked[] = [];
  const server = api({
    [`${RUN}/actions`]: () => ({ version: 9, items: [known] }),
    [`POST ${RUN}/approve`]: (each: Asked) => {
      sent.push(each);
      return { reason: '' };
    },
  });
  show(RUN);
  fireEvent.click(await screen.findByRole('button', { name: 'Approve' }));
  const dialog = within(await screen.findByRole('dialog'));
  let number = 40;
  const becomes = (next: Action) => {
    known = next;
    number += 1;
    act(() => server.send(`${RUN}/events/stream`, number, 'run-changed', { number, at: iso(60), status: 'waiting', reason: '' }));
  };
  await waitFor(() => expect(server.follows(`${RUN}/events/stream`)).toBe(true));
  return { dialog, becomes, sent };
}

test('a question that means something else by now is asked anew, and what was typed stays', async () => {
  const first = action('approve', { body: waitsFor('2-WAIT', 3), consequence: 'approval 1 of 2', reasonField: 'comment' });
  const { dialog, becomes, sent } = await asked(first);
  fireEvent.change(dialog.getByRole('textbox'), { target: { value: 'looks fine' } });

  becomes({ ...first, body: waitsFor('4-WAIT', 5), consequence: 'approval 2 of 2, the last that is needed' });
  expect((await dialog.findByRole('alert')).textContent).toBe(
    'This has changed meanwhile: approval 2 of 2, the last that is needed',
  );
  expect(dialog.queryByRole('button', { name: 'Approve' })).toBeNull();
  fireEvent.click(dialog.getByRole('button', { name: 'Go on with this' }));

  expect(dialog.queryByRole('alert')).toBeNull();
  expect(sent).toEqual([]);
  fireEvent.click(dialog.getByRole('button', { name: 'Approve' }));
  await waitFor(() => expect(screen.queryByRole('dialog')).toBeNull());
  expect(sent.map((each) => each.body)).toEqual([{ ...waitsFor('4-WAIT', 5), comment: 'looks fine' }]);
});

test('a question that is over says why, sends nothing and keeps the focus in sight', async () => {
  const first = action('approve', { body: waitsFor('2-WAIT', 3) });
  const { dialog, becomes, sent } = await asked(first);
  const button = dialog.getByRole('button', { name: 'Approve' });
  button.focus();

  becomes({ ...first, enabled: false, disabledReason: 'stage 2-WAIT was approved by ben' });
  expect((await dialog.findByRole('alert')).textContent).toBe(
    'This is not possible any more: stage 2-WAIT was approved by ben',
  );
  fireEvent.click(button);

  expect(document.activeElement).toBe(button);
  expect(sent).toEqual([]);
  fireEvent.click(dialog.getByRole('button', { name: 'Close' }));
  expect(screen.queryByRole('dialog')).toBeNull();
});

test('a question says how things are when it is asked, not when its button was drawn', async () => {
  const cancel = (under: string) => action('cancel', { body: {}, consequence: `what is under way on ${under} finishes` });
  let known = cancel('asia');
  api({ [`${RUN}/actions`]: () => ({ version: 9, items: [known] }) });
  show(RUN);
  const button = await screen.findByRole('button', { name: 'Cancel' });
  known = cancel('eu and asia');

  fireEvent.click(button);

  const dialog = within(await screen.findByRole('dialog'));
  expect(await dialog.findByText('what is under way on eu and asia finishes')).toBeTruthy();
});

test('marks of the time line are walked by arrows, and say what happened and when', async () => {
  api({ [RUN]: { ...smallRun(), summary: { ...smallRun().summary, finished: iso(60), status: 'failed' } } });
  const { container } = show(RUN);
  const lane = within(await screen.findByRole('toolbar', { name: 'What happened' }));
  const signs = lane.getAllByRole('button');
  const told = () => screen.getByRole('list', { name: 'What happened then' }).textContent;

  expect(signs.map((sign) => sign.tabIndex)).toEqual([-1, -1, -1, -1, -1, 0]);
  expect(signs[5]?.textContent).toBe('✕');
  expect(told()).toContain('errors: canary 2.6 %, baseline 0.4 %');
  act(() => signs[5]?.focus());
  fireEvent.keyDown(document.activeElement ?? document.body, { key: 'Home' });
  fireEvent.keyDown(document.activeElement ?? document.body, { key: 'ArrowRight' });
  fireEvent.keyDown(document.activeElement ?? document.body, { key: 'ArrowRight' });

  expect(document.activeElement?.getAttribute('aria-label')).toContain('ana paused the run: <b>lunch</b>');
  expect(told()).toContain('ana paused the run: <b>lunch</b>');
  expect(await violations(container)).toEqual([]);
});

test('a time line whose marks cannot be read says so', async () => {
  api({ [`${RUN}/marks`]: new Refusal(400, 'the store cannot be read') });
  show(RUN);

  expect(await screen.findByText('What happened is not known: the store cannot be read')).toBeTruthy();
});
