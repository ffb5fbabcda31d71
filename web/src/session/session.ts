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

/** Make a session of an API token. */
export async function logInWithToken(token: string): Promise<void> {
  await post('/auth/token', { token });
}

export async function logOut(): Promise<void> {
  await post('/auth/logout', {});
}
