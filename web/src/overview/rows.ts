/** The applications' lines: their colours and the places where they lag behind. */

import type { ApplicationRow, PlaceCommit } from '../api/types';
import { commitColours } from '../design/commit';

/** A colour for each commit of a row, the newest release's first; one release has none. */
export function rowColours(row: ApplicationRow): Map<string, number> {
  const commits = [row.runningCommit, ...row.places.flatMap((place) => place.commits)];
  const several = new Set(commits.filter(Boolean));
  return several.size > 1 ? commitColours(commits) : new Map<string, number>();
}

/** A row's places by name. */
export function placesOf(row: ApplicationRow): Map<string, PlaceCommit> {
  return new Map(row.places.map((place) => [place.place, place]));
}

/** What a place's cell says to those who do not see its colours. */
export function placeSentence(place: PlaceCommit): string {
  const [first = '', ...others] = place.commits;
  const parts = [first ? `${first.slice(0, 7)} in ${place.current} of ${place.clusters}` : 'nothing runs'];
  if (others.length > 0) parts.push(`besides ${others.map((other) => other.slice(0, 7)).join(', ')}`);
  if (place.health !== 'healthy') parts.push(place.health);
  if (place.drift === 'outOfSync') parts.push('out of sync');
  return parts.join('; ');
}

/** What is worth a sign in a place's cell; empty: all is well. */
export function placeTrouble(place: PlaceCommit): string {
  if (['degraded', 'missing', 'unknown'].includes(place.health)) return place.health;
  return place.drift === 'outOfSync' ? 'outOfSync' : '';
}
