import { describe, expect, it } from 'vitest';

import { diffLines, fold, pair, type DiffLine } from './lines';

const signs = { same: ' ', removed: '-', added: '+' } as const;
const write = (lines: readonly DiffLine[]) => lines.map((line) => signs[line.sign] + line.text);
const sides = (lines: readonly DiffLine[]) => [
  lines.filter((line) => line.before !== null).map((line) => line.text),
  lines.filter((line) => line.after !== null).map((line) => line.text),
];

describe('diffLines', () => {
  it('finds the shortest difference', () => {
    const found = diffLines(['a', 'b', 'c', 'd'], ['a', 'x', 'c', 'd', 'e']);

    expect(write(found)).toEqual([' a', '-b', '+x', ' c', ' d', '+e']);
    expect(found.map((line) => [line.before, line.after])).toEqual([
      [1, 1],
      [2, null],
      [null, 2],
      [3, 3],
      [4, 4],
      [null, 5],
    ]);
  });

  it('knows sides without lines', () => {
    expect(write(diffLines([], ['a']))).toEqual(['+a']);
    expect(write(diffLines(['a'], []))).toEqual(['-a']);
    expect(diffLines([], [])).toEqual([]);
  });

  it('holds both texts whole, whatever they are', () => {
    // A small generator of its own, so that the same texts come each time.
    let seed = 7;
    const next = (most: number) => (seed = (seed * 48_271) % 2_147_483_647) % most;
    const text = () => Array.from({ length: next(12) }, () => 'abcd'[next(4)] ?? 'a');
    for (let round = 0; round < 300; round++) {
      const [before, after] = [text(), text()];
      const found = diffLines(before, after);
      expect(sides(found)).toEqual([before, after]);
      const kept = found.filter((line) => line.sign === 'same').length;
      expect(kept).toBe(longestCommon(before, after));
    }
  });

  it('says that long texts without anything in common are replaced', () => {
    const before = Array.from({ length: 2000 }, (_, index) => `old ${index}`);
    const after = Array.from({ length: 2000 }, (_, index) => `new ${index}`);

    const found = diffLines(before, after);

    expect(sides(found)).toEqual([before, after]);
  });
});

function longestCommon(one: readonly string[], other: readonly string[]): number {
  const table = one.map(() => other.map(() => 0));
  const at = (row: number, column: number) => table[row]?.[column] ?? 0;
  one.forEach((left, row) => {
    other.forEach((right, column) => {
      const cells = table[row];
      if (!cells) return;
      cells[column] =
        left === right
          ? at(row - 1, column - 1) + 1
          : Math.max(at(row - 1, column), at(row, column - 1));
    });
  });
  return at(one.length - 1, other.length - 1);
}

describe('fold', () => {
  it('folds what is far from changes', () => {
    const before = Array.from({ length: 20 }, (_, index) => `line ${index}`);
    const after = before.with(10, 'changed');

    const blocks = fold(diffLines(before, after), 2);

    expect(blocks.map((block) => [block.kind, block.lines.length])).toEqual([
      ['fold', 8],
      ['lines', 6],
      ['fold', 7],
    ]);
  });

  it('folds everything where nothing changed', () => {
    const lines = diffLines(['a', 'b'], ['a', 'b']);

    expect(fold(lines)).toEqual([{ kind: 'fold', lines }]);
  });

  it('folds no single line', () => {
    const lines = diffLines(['a', 'b'], ['a', 'x']);

    expect(fold(lines, 0).map((block) => block.kind)).toEqual(['lines', 'lines']);
  });
});

describe('pair', () => {
  it('sets what was replaced beside what replaces it', () => {
    const rows = pair(diffLines(['a', 'b', 'c'], ['a', 'x', 'y', 'c']));

    expect(rows.map((row) => [row.before?.text ?? null, row.after?.text ?? null])).toEqual([
      ['a', 'a'],
      ['b', 'x'],
      [null, 'y'],
      ['c', 'c'],
    ]);
  });
});
