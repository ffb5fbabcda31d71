import { fireEvent, screen, waitFor, within } from '@testing-library/react';
import { afterEach, expect, test, vi } from 'vitest';

import { violations } from '../../tests/axe';
import { actions, smallRun } from '../../tests/fixtures/run';
import { Api, Refusal, SESSION, show, type Asked } from '../../tests/screen';
import { oidcAddress, pageAfterLogin, safePath } from './session';

afterEach(() => void vi.unstubAllGlobals());

const NOBODY = { ...SESSION, authenticated: false, name: '', csrfToken: '' };

test('whoever is not logged in is asked to, in the ways that there are', async () => {
  new Api({ '/session': { ...NOBODY, methods: ['oidc', 'token'] } });
  const { container } = show('/');

  const link = await screen.findByRole('link', { name: 'Log in with your organization' });
  expect(link.getAttribute('href')).toMatch(/^\/auth\/login\?next=%2F/);
  expect(screen.getByLabelText('API token').getAttribute('type')).toBe('password');
  expect(await violations(container)).toEqual([]);
});

test('a session that ends in mid-click leaves the page, asks to log in, and it goes on', async () => {
  const RUN = '/runs/r-20260312-1';
  let session = SESSION;
  const sent: Asked[] = [];
  const api = new Api({
    '/session': () => session,
    [RUN]: smallRun(),
    [`${RUN}/actions`]: actions(),
    '/applications/shop': { run: '', cause: '' },
    [`POST ${RUN}/pause`]: () => {
      session = NOBODY;
      return new Refusal(401, 'credentials are needed');
    },
    'POST /auth/token': (asked: Asked) => {
      sent.push(asked);
      session = { ...SESSION, csrfToken: 'csrf-2' };
      return session;
    },
  });
  show(RUN);
  fireEvent.click(await screen.findByRole('button', { name: 'Pause' }));
  const question = await screen.findByRole('dialog');
  fireEvent.change(within(question).getByLabelText(/Reason/), { target: { value: 'lunch' } });
  fireEvent.click(within(question).getByRole('button', { name: 'Pause' }));

  const token = await screen.findByLabelText('API token');
  expect(screen.getByRole('grid')).toBeTruthy();
  fireEvent.change(token, { target: { value: 'volary_secret' } });
  fireEvent.click(screen.getByRole('button', { name: 'Log in with the token' }));

  await waitFor(() => expect(screen.queryByLabelText('API token')).toBeNull());
  expect(sent[0]?.body).toEqual({ token: 'volary_secret' });
  expect(within(question).getByLabelText<HTMLTextAreaElement>(/Reason/).value).toBe('lunch');
  await waitFor(() => expect(api.follows(`${RUN}/events/stream`)).toBe(true));
});

test('a token that is not known says so and stays on the page', async () => {
  new Api({ '/session': NOBODY, 'POST /auth/token': new Refusal(401, 'this token is not known') });
  show('/');
  fireEvent.change(await screen.findByLabelText('API token'), { target: { value: 'x' } });
  fireEvent.click(screen.getByRole('button', { name: 'Log in with the token' }));

  expect((await screen.findByRole('alert')).textContent).toContain('this token is not known');
});

test('the way back is a path of these screens only', () => {
  const paths = ['/runs/1?tab=log', '//evil.example', '/\\evil.example', 'https://evil.example', undefined];

  expect(paths.map(safePath)).toEqual(['/runs/1?tab=log', '/', '/', '/', '/']);
  expect(oidcAddress('/a?b=c')).toBe('/auth/login?next=%2Fa%3Fb%3Dc');
});

test.each([
  ['expired', /longer than ten minutes/],
  ['refused', /said no/],
  ['unavailable', /cannot be reached/],
])('a login that came back %s says why, and the next one leads to the page that was wanted', async (problem, said) => {
  new Api({ '/session': { ...NOBODY, methods: ['oidc', 'token'] } });
  const address = `/login?problem=${problem}&next=%2Fruns%2Fr-1`;
  window.history.pushState(null, '', address);
  const { container } = show(address);

  expect((await screen.findByRole('alert')).textContent).toMatch(said);
  const link = screen.getByRole('link', { name: 'Log in with your organization' });
  expect(link.getAttribute('href')).toBe('/auth/login?next=%2Fruns%2Fr-1');
  expect(await violations(container)).toEqual([]);
  window.history.pushState(null, '', '/');
});

test('whoever is logged in goes from the login to the page that was wanted', async () => {
  new Api({ '/fleet': {}, '/clusters': { items: [], cursor: '' } });
  const { address } = show('/login?next=%2Ffleet');

  await waitFor(() => expect(address()).toBe('/fleet'));
});

test('a login leads to no other host and not to itself', () => {
  const after = (next: string) => pageAfterLogin({ pathname: '/login', search: `?${new URLSearchParams({ next }).toString()}` });

  expect(after('//evil.example')).toBe('/');
  expect(after('/login?next=/login')).toBe('/');
  expect(after('/runs/r-1?stage=x')).toBe('/runs/r-1?stage=x');
});
