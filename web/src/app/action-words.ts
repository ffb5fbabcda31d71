import type { Action } from '../api/types';

const TITLES: Record<string, string> = {
  rollback: 'Roll back',
  unfreeze: 'Open windows',
  sync: 'Sync',
};

/** What a button says: the verb, and the clusters where it is about some only. */
export function actionTitle(action: Pick<Action, 'verb' | 'clusters'>): string {
  const known = TITLES[action.verb];
  const verb = known ?? action.verb.charAt(0).toUpperCase() + action.verb.slice(1);
  const [only] = action.clusters;
  if (only === undefined) return verb;
  return action.clusters.length === 1 ? `${verb} ${only}` : `${verb} ${action.clusters.length} clusters`;
}
