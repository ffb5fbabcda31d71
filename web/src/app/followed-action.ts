/** What became of an action while somebody is asked about it. Pure. */

import type { Action } from '../api/types';

export type Standing =
  /** As it was shown. */
  | { kind: 'same'; action: Action }
  /** Another thing would be confirmed now than the one that was read. */
  | { kind: 'changed'; action: Action }
  /** It cannot be done any more. */
  | { kind: 'over'; why: string };

/** Find an action among those that are possible now; null: there is none of the kind any more. */
export function sameWish(actions: readonly Action[], opened: Action): Action | null {
  const wanted = wishOf(opened);
  return actions.find((action) => wishOf(action) === wanted) ?? null;
}

/** What is wished for, without where the run was when that was shown. */
function wishOf({ path, body }: Action): string {
  return JSON.stringify([path, { ...body, seen: null }]);
}

/** Say how the action that was `read` stands `now`; null: it is not offered any more. */
export function standingOf(read: Action, now: Action | null): Standing {
  if (now === null) return { kind: 'over', why: 'things have moved on, and nothing of the kind is asked now' };
  if (!now.enabled) return { kind: 'over', why: now.disabledReason || 'it is not possible now' };
  const isBound = JSON.stringify(now.body) !== JSON.stringify(read.body);
  const isSaid = now.consequence !== read.consequence && holdsFast(now);
  return isBound || isSaid ? { kind: 'changed', action: now } : { kind: 'same', action: now };
}

/**
 * Whether other words about it have to be read first.
 *
 * Stopping a run binds to nothing that was seen: what is under way there changes all the time, and
 * nobody who wants to stop it should have to read that again and again.
 */
function holdsFast(action: Action): boolean {
  return action.noun !== 'run' || 'seen' in action.body;
}

/** What is to be read anew: the new consequence, or where the run is where that is the same. */
export function changeOf(read: Action, now: Action): string {
  if (now.consequence !== read.consequence) return now.consequence;
  const where = now.stage && now.stage !== read.stage ? `the run is at ${now.stage} by now` : 'the run has moved on';
  return `${where}; ${now.consequence}`;
}
