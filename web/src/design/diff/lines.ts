/**
 * The difference of two texts, line by line, and how it is laid out: unified, side by side, folded.
 * Plain values in, plain values out.
 */

export type Sign = 'same' | 'removed' | 'added';

export interface DiffLine {
  sign: Sign;
  text: string;
  /** Line number on each side, from 1; null: the side lacks the line. */
  before: number | null;
  after: number | null;
}

/** Lines that are shown, or unchanged ones that are folded away. */
export type Block =
  | { kind: 'lines'; lines: readonly DiffLine[] }
  | { kind: 'fold'; lines: readonly DiffLine[] };

/** A row side by side; null: nothing stands on that side. */
export interface Row {
  before: DiffLine | null;
  after: DiffLine | null;
}

/** Beyond this many edits the middle is shown as replaced: a browser must not stand still. */
const MOST_EDITS = 600;

/** Compare two texts. The result has every line of both, in order. */
export function diffLines(before: readonly string[], after: readonly string[]): DiffLine[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start++;
  let end = 0;
  while (
    end < before.length - start &&
    end < after.length - start &&
    before[before.length - 1 - end] === after[after.length - 1 - end]
  ) {
    end++;
  }
  const signs: Sign[] = [
    ...Array<Sign>(start).fill('same'),
    ...middle(before.slice(start, before.length - end), after.slice(start, after.length - end)),
    ...Array<Sign>(end).fill('same'),
  ];
  return number(signs, before, after);
}

function number(
  signs: readonly Sign[],
  before: readonly string[],
  after: readonly string[],
): DiffLine[] {
  let left = 0;
  let right = 0;
  return signs.map((sign) => {
    const onLeft = sign !== 'added' ? ++left : null;
    const onRight = sign !== 'removed' ? ++right : null;
    const text = (onLeft !== null ? before[onLeft - 1] : after[(onRight ?? 1) - 1]) ?? '';
    return { sign, text, before: onLeft, after: onRight };
  });
}

/** Myers' shortest edit script, given up beyond a bound. */
function middle(before: readonly string[], after: readonly string[]): Sign[] {
  const replaced = (): Sign[] => [
    ...before.map((): Sign => 'removed'),
    ...after.map((): Sign => 'added'),
  ];
  if (before.length === 0 || after.length === 0) return replaced();
  const bound = Math.min(before.length + after.length, MOST_EDITS);
  const furthest = new Map<number, number>([[1, 0]]);
  const trace: Map<number, number>[] = [];
  for (let edits = 0; edits <= bound; edits++) {
    trace.push(new Map(furthest));
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      let x = goesDown(furthest, diagonal, edits)
        ? at(furthest, diagonal + 1)
        : at(furthest, diagonal - 1) + 1;
      while (x < before.length && x - diagonal < after.length && before[x] === after[x - diagonal])
        x++;
      furthest.set(diagonal, x);
      if (x >= before.length && x - diagonal >= after.length)
        return walkBack(trace, before.length, after.length);
    }
  }
  return replaced();
}

const at = (furthest: Map<number, number>, diagonal: number): number =>
  furthest.get(diagonal) ?? -1;

const goesDown = (furthest: Map<number, number>, diagonal: number, edits: number): boolean =>
  diagonal === -edits ||
  (diagonal !== edits && at(furthest, diagonal - 1) < at(furthest, diagonal + 1));

function walkBack(trace: readonly Map<number, number>[], x: number, y: number): Sign[] {
  const signs: Sign[] = [];
  for (let edits = trace.length - 1; edits >= 0; edits--) {
    const furthest = trace[edits] ?? new Map<number, number>();
    const diagonal = x - y;
    const down = goesDown(furthest, diagonal, edits);
    const from = down ? diagonal + 1 : diagonal - 1;
    const fromX = at(furthest, from);
    const fromY = fromX - from;
    while (x > fromX && y > fromY && x > 0 && y > 0) {
      signs.push('same');
      x--;
      y--;
    }
    if (edits > 0) signs.push(down ? 'added' : 'removed');
    x = fromX;
    y = fromY;
  }
  return signs.reverse();
}

/** Fold runs of unchanged lines, but for `context` lines beside each change. */
export function fold(lines: readonly DiffLine[], context = 3): Block[] {
  const near = lines.map(() => false);
  lines.forEach((line, index) => {
    if (line.sign === 'same') return;
    const from = Math.max(0, index - context);
    const to = Math.min(lines.length - 1, index + context);
    near.fill(true, from, to + 1);
  });
  const blocks: Block[] = [];
  let index = 0;
  while (index < lines.length) {
    const shown = near[index];
    const start = index;
    while (index < lines.length && near[index] === shown) index++;
    const part = lines.slice(start, index);
    // To fold one line takes as much room as to show it.
    blocks.push({ kind: shown || part.length < 2 ? 'lines' : 'fold', lines: part });
  }
  return blocks;
}

/** Lay lines out side by side: a removed line stands beside the added one in its place. */
export function pair(lines: readonly DiffLine[]): Row[] {
  const rows: Row[] = [];
  let removed: DiffLine[] = [];
  let added: DiffLine[] = [];
  const flush = () => {
    for (let index = 0; index < Math.max(removed.length, added.length); index++)
      rows.push({ before: removed[index] ?? null, after: added[index] ?? null });
    removed = [];
    added = [];
  };
  for (const line of lines) {
    if (line.sign === 'removed') removed.push(line);
    else if (line.sign === 'added') added.push(line);
    else {
      flush();
      rows.push({ before: line, after: line });
    }
  }
  flush();
  return rows;
}
