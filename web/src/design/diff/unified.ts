/** A unified diff, as the server writes it, as lines. Plain values in, plain values out. */

import type { DiffLine } from './lines';

const HUNK = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/;

/** Read the lines of a unified diff; what stands before the first hunk names the sides only. */
export function readUnified(text: string): DiffLine[] {
  const lines: DiffLine[] = [];
  let before = 0;
  let after = 0;
  let isWithin = false;
  for (const line of text.split('\n')) {
    const hunk = HUNK.exec(line);
    if (hunk) {
      // A side without lines is counted from 0: the next line there, if any, is the first.
      before = Math.max(1, Number(hunk[1]));
      after = Math.max(1, Number(hunk[2]));
      isWithin = true;
      continue;
    }
    if (!isWithin) continue;
    const rest = line.slice(1);
    if (line.startsWith('-')) lines.push({ sign: 'removed', text: rest, before: before++, after: null });
    else if (line.startsWith('+')) lines.push({ sign: 'added', text: rest, before: null, after: after++ });
    else lines.push({ sign: 'same', text: rest, before: before++, after: after++ });
  }
  return lines;
}
