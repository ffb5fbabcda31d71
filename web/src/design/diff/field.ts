/** One field on two sides as lines. Plain values in, plain values out. */

import { diffLines, type DiffLine } from './lines';
import { yamlLines } from './yaml';

/** A value; null: there is none, which is something else than a value that is null. */
export type Side = { value: unknown } | null;

export interface FieldLines {
  path: string;
  lines: readonly DiffLine[];
  /** Both sides are masked: that it changes is all that can be said. */
  isMasked: boolean;
}

/** What stands for the values of secrets. */
const MASK = '*****';

/** Compare both sides of a field. */
export function compareField(path: string, before: Side, after: Side): FieldLines {
  return {
    path,
    lines: diffLines(linesOf(before), linesOf(after)),
    isMasked: before?.value === MASK && after?.value === MASK,
  };
}

function linesOf(side: Side): string[] {
  if (side === null) return [];
  // A text of several lines is compared as it is: that is what somebody changed.
  if (typeof side.value === 'string' && side.value.includes('\n'))
    return side.value.replace(/\n$/, '').split('\n');
  return yamlLines(side.value);
}
