/** Entries of the audit and events of runs as lines of one list. Plain values in, plain values out. */

import type { AuditEntry, Event } from '../api/types';

/** One field that a command changed. */
export interface FieldChange {
  name: string;
  before: string;
  after: string;
}

/** What a command asked for, in words: `approved`, `rolled back`. */
const DONE: Readonly<Record<string, string>> = {
  'application.sync': 'rolled out',
  'application.rollback': 'rolled back',
  'application.pause': 'paused',
  'application.resume': 'resumed',
  'application.rebalance': 'rebalanced',
  'application.adopt': 'adopted',
  'application.forget': 'forgot',
  'application.plan': 'planned',
  'run.approve': 'approved',
  'run.reject': 'rejected',
  'run.withdraw': 'withdrew the approval of',
  'run.promote': 'promoted',
  'run.unfreeze': 'opened closed windows to',
  'run.pause': 'paused',
  'run.resume': 'resumed',
  'run.cancel': 'cancelled',
  'run.abandon': 'abandoned',
  'run.retry': 'retried',
  'run.skip': 'skipped a part of',
  'session.begin': 'logged in',
  'session.end': 'logged out',
  'token.create': 'made the token',
  'token.revoke': 'revoked the token',
  'cluster.cordon': 'cordoned',
  'cluster.drain': 'drained',
  'cluster.uncordon': 'uncordoned',
  'cluster.taint': 'tainted',
  'cluster.untaint': 'untainted',
};

/** An entry in a sentence: who did what to what. */
export function describeEntry(entry: AuditEntry): string {
  const what = subjectOf(entry);
  const done = DONE[entry.action];
  if (entry.result === 'ok' && done) return [entry.by, done, what].filter(Boolean).join(' ');
  const asked = `${entry.by}: ${entry.action}`;
  const outcome = entry.result === 'denied' ? 'was not allowed' : entry.result;
  return [asked, what, entry.result === 'ok' ? '' : `(${outcome})`].filter(Boolean).join(' ');
}

/** What an entry is about. */
export function subjectOf(entry: AuditEntry): string {
  if (entry.application) return entry.application;
  return clusterOf(entry) || textOf(entry.document['name']) || entry.run || entry.project;
}

export function clusterOf(entry: AuditEntry): string {
  return textOf(entry.document['cluster']);
}

/** The reason that a person gave, or why it was refused; empty: there is none. */
export function reasonOf(entry: AuditEntry): string {
  for (const name of ['refusal', 'refused', 'reason', 'comment']) {
    const said = textOf(entry.document[name]);
    if (said) return said;
  }
  return '';
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** What a command changed, field by field. */
export function changesOf(entry: AuditEntry): FieldChange[] {
  const names = [...new Set([...Object.keys(entry.before), ...Object.keys(entry.after)])];
  return names.flatMap((name) => {
    const before = writeValue(entry.before[name]);
    const after = writeValue(entry.after[name]);
    return before === after ? [] : [{ name, before, after }];
  });
}

export function writeValue(value: unknown): string {
  if (value === undefined || value === null || value === '') return '';
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map(writeValue).join(', ');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** An event of a run in a sentence. */
export function describeEvent(event: Event): string {
  const say = (name: string) => textOf(event.document[name]);
  const where = [say('stageName') || say('stage'), say('target')].filter(Boolean).join(' on ');
  const outcome = [say('status').replaceAll('_', ' '), say('reason') || say('sentence')]
    .filter(Boolean)
    .join(': ');
  const what = event.event.replaceAll('-', ' ');
  return [where ? `${what}, ${where}` : what, outcome].filter(Boolean).join(' — ');
}

/** Events that are too many to be read by people: progress and lines of logs. */
const MINUTE = new Set(['task-progressed', 'task-logged', 'task-finding']);

export function isNotable(event: Event): boolean {
  return !MINUTE.has(event.event);
}

/** How an event reads at a glance. */
export function toneOf(event: Event): 'failed' | 'done' | 'waiting' | 'running' {
  const status = textOf(event.document['status']);
  if (['failed', 'rolled_back', 'cancelled', 'unreachable'].includes(status)) return 'failed';
  if (event.event === 'rollback-started' || event.event === 'request-refused') return 'failed';
  if (event.event === 'stage-waiting' || status === 'waiting') return 'waiting';
  return event.event.endsWith('-finished') ? 'done' : 'running';
}

/** The days of a list, each with its entries, in the order of the list. */
export function byDay<Item>(
  items: readonly Item[],
  at: (item: Item) => string,
  nameOf: (moment: Date) => string,
): (readonly [string, readonly Item[]])[] {
  const days: [string, Item[]][] = [];
  for (const item of items) {
    const day = nameOf(new Date(at(item)));
    const last = days.at(-1);
    if (last?.[0] === day) last[1].push(item);
    else days.push([day, [item]]);
  }
  return days;
}

/** A day as a heading. */
export function nameDay(moment: Date): string {
  return moment.toLocaleDateString('en-GB', {
    weekday: 'long',
    day: 'numeric',
    month: 'long',
    year: 'numeric',
  });
}

/** What a list was narrowed to, as the end of a sentence. */
export function describeFilter(filter: {
  by?: string;
  application?: string;
  cluster?: string;
  action?: string;
}): string {
  const parts = [
    filter.by && `as ${filter.by}`,
    filter.application && `to ${filter.application}`,
    filter.cluster && `on ${filter.cluster}`,
    filter.action && `called ${filter.action}`,
  ].filter(Boolean);
  return parts.length > 0 ? ` ${parts.join(' ')}` : ' yet';
}
