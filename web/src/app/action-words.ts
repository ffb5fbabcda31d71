import type { Action } from '../api/types';

/** What a button says; of an action without a title its verb. */
export function actionTitle(action: Pick<Action, 'title' | 'verb'>): string {
  return action.title || action.verb.charAt(0).toUpperCase() + action.verb.slice(1);
}
