import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback } from 'react';

import { address } from '../api/client';
import { reading } from '../api/queries';
import type { StreamEvent } from '../api/stream-parser';
import type { LiveChange, LiveTree } from '../api/types';
import { useStream } from '../app/use-stream';
import { applyChange } from './tree-model';

/** What the events of a stream make of a tree. */
export function followTree(tree: LiveTree, events: readonly StreamEvent[]): LiveTree {
  return events.reduce((known, { event, data }) => {
    if (event === 'tree') return JSON.parse(data) as LiveTree;
    return event === 'change' ? applyChange(known, JSON.parse(data) as LiveChange) : known;
  }, tree);
}

/** An application's tree, followed: read once, then only what changes. `cluster`: of that one alone. */
export function useLiveTree(application: string, cluster = '') {
  const path = `/applications/${encodeURIComponent(application)}/tree`;
  const client = useQueryClient();
  const options = reading<LiveTree>(path, cluster ? { cluster } : {});
  const tree = useQuery({ ...options, staleTime: Infinity });
  const take = useCallback(
    (events: StreamEvent[]) =>
      client.setQueryData(options.queryKey, (known: LiveTree | undefined) =>
        known ? followTree(known, events) : known,
      ),
    // eslint-disable-next-line react-hooks/exhaustive-deps -- the key is made of path and cluster
    [client, path, cluster],
  );
  useStream(
    tree.data ? address(`${path}/stream`, { cluster }) : null,
    take,
    tree.data ? String(tree.data.version) : '',
  );
  return tree;
}
