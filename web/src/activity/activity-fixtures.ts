/** Entries of the audit and events as the server sends them, for tests. */

import type { AuditEntry, Event } from '../api/types';

export function entry(fields: Partial<AuditEntry> = {}): AuditEntry {
  return {
    position: 7,
    at: '2026-03-12T14:00:00Z',
    by: 'ana',
    action: 'application.pause',
    result: 'ok',
    source: '10.0.0.7',
    application: 'shop',
    project: 'web',
    run: '',
    document: { reason: 'black friday' },
    before: { status: 'synced', paused: '' },
    after: { status: 'synced', paused: 'by ana: black friday' },
    previous: '',
    hash: '',
    ...fields,
  };
}

export function event(fields: Partial<Event> = {}): Event {
  return {
    position: 12,
    run: 'run-1',
    application: 'shop',
    number: 3,
    at: '2026-03-12T14:00:00Z',
    event: 'task-finished',
    document: { stageName: 'K8S_CANARY_ROLLOUT', target: 'eu', status: 'failed', reason: '0 of 1 pods ready' },
    ...fields,
  };
}
