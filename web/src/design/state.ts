/** The states there are: each has a shape, a word and a tone, and nobody uses one without another. */

export type Shape =
  | 'done'
  | 'running'
  | 'waiting'
  | 'paused'
  | 'failed'
  | 'back'
  | 'skipped'
  | 'cancelled'
  | 'unreachable'
  | 'pending'
  | 'differs'
  | 'unknown';

export type Tone = 'good' | 'busy' | 'wait' | 'bad' | 'quiet';

export interface State {
  shape: Shape;
  tone: Tone;
  word: string;
  /** The smaller, the more it needs a person. */
  rank: number;
}

const state = (shape: Shape, tone: Tone, word: string, rank: number): State => ({
  shape,
  tone,
  word,
  rank,
});

const UNKNOWN = state('unknown', 'quiet', 'unknown', 4);

/** As the server writes them, of stages, tasks, runs, applications, clusters, agents, health and drift. */
const STATES: Record<string, State> = {
  failed: state('failed', 'bad', 'failed', 0),
  failure: state('failed', 'bad', 'failed', 0),
  degraded: state('failed', 'bad', 'degraded', 0),
  broken: state('failed', 'bad', 'broken', 0),
  unreadable: state('failed', 'bad', 'unreadable', 0),
  missing: state('failed', 'bad', 'missing', 0),
  unreachable: state('unreachable', 'bad', 'unreachable', 1),
  refused: state('failed', 'bad', 'refused', 0),
  disconnected: state('unreachable', 'bad', 'disconnected', 1),
  rolling_back: state('back', 'bad', 'rolling back', 1),
  rolled_back: state('back', 'bad', 'rolled back', 2),
  waiting: state('waiting', 'wait', 'waiting', 3),
  paused: state('paused', 'wait', 'paused', 3),
  held: state('paused', 'wait', 'held', 3),
  out_of_sync: state('differs', 'wait', 'out of sync', 3),
  outOfSync: state('differs', 'wait', 'out of sync', 3),
  differs: state('differs', 'wait', 'differs', 3),
  extra: state('differs', 'wait', 'not in Git', 3),
  not_ready: state('waiting', 'wait', 'not ready', 3),
  inconclusive: state('unknown', 'wait', 'inconclusive', 3),
  cancelled: state('cancelled', 'quiet', 'cancelled', 4),
  orphaned: state('unknown', 'wait', 'orphaned', 4),
  unknown: UNKNOWN,
  running: state('running', 'busy', 'running', 5),
  progressing: state('running', 'busy', 'progressing', 5),
  joining: state('running', 'busy', 'joining', 5),
  suspended: state('paused', 'quiet', 'suspended', 6),
  cordoned: state('paused', 'quiet', 'cordoned', 6),
  pending: state('pending', 'quiet', 'pending', 7),
  skipped: state('skipped', 'quiet', 'skipped', 8),
  removed: state('skipped', 'quiet', 'removed', 8),
  succeeded_with_exceptions: state('done', 'wait', 'done with exceptions', 3),
  succeeded: state('done', 'good', 'done', 9),
  success: state('done', 'good', 'success', 9),
  synced: state('done', 'good', 'synced', 9),
  inSync: state('done', 'good', 'in sync', 9),
  healthy: state('done', 'good', 'healthy', 9),
  ready: state('done', 'good', 'ready', 9),
  connected: state('done', 'good', 'connected', 9),
};

/** Return what a status means; one that is not known is unknown, never fine. */
export function stateOf(status: string): State {
  const found = Object.hasOwn(STATES, status) ? STATES[status] : undefined;
  return found ?? { ...UNKNOWN, word: status.replaceAll('_', ' ') || 'unknown' };
}
