/** Who is looking, and how to log in. */

import { queryOptions } from '@tanstack/react-query';

import { get, post, setCsrfToken } from '../api/client';

export interface Session {
  authenticated: boolean;
  /** Empty: nobody. */
  name: string;
  /** What every write carries. */
  csrfToken: string;
  /** The ways to log in that the server offers; `local`: none is needed here. */
  methods: ('oidc' | 'token' | 'local')[];
  version: string;
}

export const sessionQuery = queryOptions({
  queryKey: ['/session'],
  queryFn: async ({ signal }) => {
    const session = await get<Session>('/session', {}, signal);
    setCsrfToken(session.csrfToken);
    return session;
  },
  staleTime: 60_000,
});

/** Where the login with OIDC begins; it comes back to `next`, a path of these screens. */
export function oidcAddress(next: string): string {
  return `/auth/login?${new URLSearchParams({ next }).toString()}`;
}

/** Take a path of these screens only: an address of another host is not one. */
export function safePath(next: string | undefined): string {
  return next && /^\/(?![/\\])/.test(next) ? next : '/';
}

/** Where the server sends whoever could not be logged in. */
export const LOGIN_PATH = '/login';

/** Why a login at the provider came to nothing, in words; empty: no reason that is known. */
export function loginProblem(word: string | undefined): string {
  switch (word) {
    case 'expired':
      return 'The login took longer than ten minutes, or went on in another browser. Begin again; cookies have to be allowed.';
    case 'refused':
      return 'Your organization’s login said no, or answered for another application. The server’s log says which.';
    case 'unavailable':
      return 'Your organization’s login cannot be reached from the server. Try again soon, or log in with an API token.';
    default:
      return '';
  }
}

/** The page that a login leads to: the one that asked for it, else the one that is open. */
export function pageAfterLogin(at: { pathname: string; search: string }): string {
  if (at.pathname !== LOGIN_PATH) return at.pathname + at.search;
  const next = safePath(new URLSearchParams(at.search).get('next') ?? undefined);
  return next.startsWith(LOGIN_PATH) ? '/' : next;
}

/** Make a session of an API token. */
export async function logInWithToken(token: string): Promise<void> {
  await post('/auth/token', { token });
}

export async function logOut(): Promise<void> {
  await post('/auth/logout', {});
}
