/** How things are read and kept: one key per route and query. */

import { QueryClient, queryOptions } from '@tanstack/react-query';

import { get, Problem, type Query } from './client';

/** Options to read `path`; screens read the same thing once. */
export function reading<Answer>(path: string, query: Query = {}) {
  return queryOptions({
    queryKey: [path, query] as const,
    queryFn: ({ signal }) => get<Answer>(path, query, signal),
  });
}

/** What has been read stays on the screen while it is read again, or cannot be. */
export function queryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 2_000,
        gcTime: 10 * 60_000,
        retry: (count, error) => (error instanceof Problem ? error.isTemporary : false) && count < 3,
        retryDelay: (count) => Math.min(8_000, 500 * 2 ** count),
        refetchOnWindowFocus: true,
        // A failed request says more than the browser's guess of being offline.
        networkMode: 'always',
      },
      mutations: { retry: false, networkMode: 'always' },
    },
  });
}
