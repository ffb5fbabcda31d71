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
  else if (place.drift === 'inSync') parts.push('healthy and in sync');
  if (place.drift === 'outOfSync') parts.push('out of sync');
  if (place.drift === 'unknown') parts.push('whether it is in sync is not known');
  return parts.join('; ');
}

/**
 * The state that a place's cell shows, the worst of health and drift; empty: no sign.
 *
 * Healthy is said only where it is also as Git says. While nobody knows that, as during a run,
 * there is no sign: neither a calm one nor a doubt about what is healthy.
 */
export function placeState(place: PlaceCommit): string {
  if (['degraded', 'missing', 'unknown'].includes(place.health)) return place.health;
  if (place.drift === 'outOfSync') return 'outOfSync';
  if (place.health !== 'healthy') return place.health;
  return place.drift === 'inSync' ? 'healthy' : '';
}
