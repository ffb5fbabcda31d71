import { expect, test } from 'vitest';

import { action, smallRun } from '../../tests/fixtures/run';
import { actionsOfCell } from './cell-drawer';
import { matrixOf } from './matrix';

test('a cell offers what is about its cluster alone, or about its stage', () => {
  const run = smallRun();
  const rows = matrixOf(run).groups.flatMap((group) => group.rows);
  const cell = rows.flatMap((row) => row.cells).find((each) => each !== undefined && each !== null);
  if (!cell) throw new Error('the run has no cell');
  const { target } = cell.task;
  const stage = cell.stage.id;
  const offered = [
    action('approve', { stage, clusters: [target, 'another'] }),
    action('skip', { stage: 'elsewhere', clusters: [target] }),
    action('promote', { stage, clusters: [] }),
    action('retry', { stage, clusters: ['another'] }),
    action('reject', { stage: 'elsewhere', clusters: [target, 'another'] }),
    action('cancel', { stage: '', clusters: [] }),
  ];

  expect(actionsOfCell(offered, cell).map(({ verb }) => verb)).toEqual(['approve', 'skip', 'promote']);
});
