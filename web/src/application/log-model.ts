/** Lines of a log as they come in, bounded. Plain values in, plain values out. */

import type { StreamEvent } from '../api/stream-parser';

export interface Line {
  /** Grows with each line: what a list tells lines apart by. */
  number: number;
  text: string;
}

export interface Log {
  lines: readonly Line[];
  /** Lines that were let go, the oldest first. */
  dropped: number;
  /** Why no more will come; empty: more may. */
  ended: string;
}

export const EMPTY: Log = { lines: [], dropped: 0, ended: '' };
/** What a page keeps of a log; the cluster has the rest. */
export const MOST_LINES = 5000;

/** Put what came in at the end. */
export function appendLines(log: Log, events: readonly StreamEvent[]): Log {
  const start = log.dropped + log.lines.length;
  const texts = events.flatMap((event) => (event.event === 'line' ? [readText(event.data)] : []));
  const end = events.find((event) => event.event === 'end');
  const lines = [...log.lines, ...texts.map((text, index) => ({ number: start + index + 1, text }))];
  const excess = Math.max(0, lines.length - MOST_LINES);
  return {
    lines: excess > 0 ? lines.slice(excess) : lines,
    dropped: log.dropped + excess,
    ended: end ? readReason(end.data) : log.ended,
  };
}

function readText(data: string): string {
  const said = JSON.parse(data) as { text?: unknown };
  return typeof said.text === 'string' ? said.text : '';
}

function readReason(data: string): string {
  const said = JSON.parse(data) as { reason?: unknown };
  return typeof said.reason === 'string' && said.reason ? said.reason : 'the log has ended';
}
