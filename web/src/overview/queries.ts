import { infiniteQueryOptions } from '@tanstack/react-query';

import { get, type Page } from '../api/client';
import { reading } from '../api/queries';
import type { ApplicationRow, Overview } from '../api/types';

export const overviewQuery = reading<Overview>('/overview');

export interface Filters {
  search?: string;
  project?: string;
  status?: string;
  cluster?: string;
  region?: string;
}

/** The lines that a person narrowed the list to, page by page. */
export function rowsQuery(filters: Filters) {
  const query: Record<string, string> = { ...filters };
  return infiniteQueryOptions({
    queryKey: ['/overview/applications', query],
    queryFn: ({ pageParam, signal }) =>
      get<Page<ApplicationRow>>(
        '/overview/applications',
        { ...query, cursor: pageParam, limit: 200 },
        signal,
      ),
    initialPageParam: '',
    getNextPageParam: (page) => page.cursor || undefined,
    placeholderData: (before) => before,
  });
}
