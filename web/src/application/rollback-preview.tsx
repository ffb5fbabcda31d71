import { useQuery } from '@tanstack/react-query';

import { post } from '../api/client';
import type { Action, RollbackPreview as Preview } from '../api/types';
import { sameClusters } from './rollback-groups';

/** What going back would change in each cluster; they are asked when somebody is about to. */
export function RollbackPreview({ action }: { action: Action }) {
  const { data, error } = useQuery({
    queryKey: [`${action.path}/plan`, action.body],
    queryFn: () => post<Preview>(`${action.path}/plan`, action.body),
    // Each asks every cluster: once for each question, whatever else is read again.
    staleTime: 'static',
    gcTime: 0,
  });
  return (
    <section className="stack rollback-preview" aria-label="What would change" aria-live="polite">
      <h3>What would change</h3>
      {error ? (
        <p>{`What would change is not known: ${error.message}`}</p>
      ) : !data ? (
        <p className="muted">The clusters are asked what would change…</p>
      ) : (
        <>
          <p>{data.sentence}</p>
          <ul className="rollback-clusters">
            {sameClusters(data.clusters).map(({ names, sentence }) => (
              <li key={sentence} className="breakable">
                <strong>{names.join(', ')}</strong> <span className="muted">{sentence}</span>
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}
