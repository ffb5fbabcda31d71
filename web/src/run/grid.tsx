/** The matrix on the screen: cluster × stage, only what is in sight. */

import { useVirtualizer } from '@tanstack/react-virtual';
import { memo, useEffect, useId, useMemo, useRef, useState } from 'react';

import { useShortcuts } from '../app/shortcuts';
import { useIsNarrow } from '../design/narrow';
import { useNow } from '../design/now';
import { useHeldOrder } from '../design/held-order';
import { useIsPrinting } from '../design/printing';
import { stateOf } from '../design/state';
import { StateShape } from '../design/state-shape';
import { GroupHead } from './group-head';
import { HeatStrip } from './heat-strip';
import {
  figureOf,
  lineKey,
  progressOf,
  sentenceOf,
  spokenCell,
  type Cell,
  type Column,
  type Line,
  type Row,
} from './matrix';
import { splitOf } from './traffic-split';
import { SplitBar } from './split-bar';
import './grid.css';

/** How much a cell shows: its shape; a figure too; a sentence too. */
export type CellDensity = 'shape' | 'figure' | 'sentence';

interface Size {
  row: number;
  column: number;
}

const SIZES: Record<CellDensity, Size> = {
  shape: { row: 24, column: 46 },
  figure: { row: 30, column: 118 },
  sentence: { row: 50, column: 210 },
};
const TRAFFIC = 190;
const HEAD = 34;
const GROUP = 34;
const SCROLLBAR = 18;
/** How tall the matrix is when all of it is seen, in pixels. */
export function gridHeight(lines: readonly Line[], density: CellDensity): number {
  const rows = lines.reduce((sum, line) => sum + (line.kind === 'group' ? GROUP : SIZES[density].row), 0);
  return HEAD + rows + SCROLLBAR;
}

/** From so many clusters on a map of all cells stands at the left. */
export const STRIP_FROM = 60;

export interface Place {
  cluster: string;
  /** The column's key. */
  column: string;
}

interface Props {
  lines: readonly Line[];
  columns: readonly Column[];
  density: CellDensity;
  clusters: number;
  /** The cell that is open beside the matrix. */
  open: Place | null;
  onOpen: (row: Row, cell: Cell, options: { replace: boolean }) => void;
  folded: ReadonlySet<string>;
  onFold: (group: string) => void;
}

export function Grid(props: Props) {
  const { lines, columns, density, open, onOpen } = props;
  const { items: shown, hold } = useHeldOrder(lines, lineKey);
  const size = SIZES[density];
  const scroller = useRef<HTMLDivElement>(null);
  const name = useIsNarrow() ? 112 : 190;
  const [cursor, setCursor] = useState<Place | null>(open);
  const id = useId();
  const isPrinting = useIsPrinting();
  const hasTraffic = useMemo(
    () => lines.some((line) => line.kind === 'row' && splitOf(line.row) !== null),
    [lines],
  );
  const traffic = hasTraffic ? TRAFFIC : 0;

  const rows = useVirtualizer({
    count: shown.length,
    getScrollElement: () => scroller.current,
    estimateSize: (index) => (shown[index]?.kind === 'group' ? GROUP : size.row),
    getItemKey: (index) => lineKeyAt(shown, index),
    overscan: isPrinting ? shown.length : 6,
    useFlushSync: false,
    scrollPaddingStart: HEAD,
    initialRect: { width: 1200, height: 700 },
  });
  const across = useVirtualizer({
    horizontal: true,
    count: columns.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => size.column,
    overscan: isPrinting ? columns.length : 2,
    useFlushSync: false,
    scrollPaddingStart: name,
    initialRect: { width: 1200, height: 700 },
  });
  useEffect(() => {
    rows.measure();
    across.measure();
  }, [rows, across, density, shown.length]);
  useEffect(() => {
    if (open) setCursor({ cluster: open.cluster, column: open.column });
  }, [open?.cluster, open?.column]); // eslint-disable-line react-hooks/exhaustive-deps -- the value, not the object

  const isPlaced = useRef(false);
  useEffect(() => {
    // A link to a cell shows it; afterwards nothing scrolls by itself.
    if (isPlaced.current || !open) return;
    isPlaced.current = true;
    const line = shown.findIndex((each) => each.kind === 'row' && each.row.cluster === open.cluster);
    rows.scrollToIndex(Math.max(0, line), { align: 'center' });
    across.scrollToIndex(Math.max(0, columns.findIndex((each) => each.key === open.column)), { align: 'auto' });
  });

  const lineAt = cursor ? shown.findIndex((line) => line.kind === 'row' && line.row.cluster === cursor.cluster) : -1;
  const columnAt = cursor ? columns.findIndex((column) => column.key === cursor.column) : -1;

  const go = (line: number, column: number) => {
    const found = shown[line];
    const key = columns[column]?.key;
    if (found?.kind !== 'row' || key === undefined) return;
    setCursor({ cluster: found.row.cluster, column: key });
    rows.scrollToIndex(line, { align: 'auto' });
    across.scrollToIndex(column, { align: 'auto' });
    const cell = found.row.cells[column];
    if (open && cell) onOpen(found.row, cell, { replace: true });
  };
  const step = (down: number, right: number) => {
    const from = lineAt < 0 ? firstRow(shown) - (down || 0) : lineAt;
    const column = clamp((columnAt < 0 ? 0 : columnAt) + right, columns.length);
    go(nextRow(shown, from, down), column);
  };
  const openCursor = () => {
    const line = shown[lineAt];
    const cell = line?.kind === 'row' ? line.row.cells[columnAt] : null;
    if (line?.kind === 'row' && cell) onOpen(line.row, cell, { replace: false });
  };
  useShortcuts([
    { key: 'arrowdown', title: 'Next cluster', run: () => step(1, 0) },
    { key: 'arrowup', title: 'Previous cluster', run: () => step(-1, 0) },
    { key: 'arrowright', title: 'Next stage', run: () => step(0, 1) },
    { key: 'arrowleft', title: 'Previous stage', run: () => step(0, -1) },
  ]);

  const visible = across.getVirtualItems();
  const first = visible[0]?.index ?? 0;
  const last = visible.at(-1)?.index ?? columns.length - 1;
  const width = name + across.getTotalSize() + traffic;
  return (
    <div className="matrix-frame">
      {props.clusters >= STRIP_FROM && (
        <HeatStrip
          lines={shown}
          columns={columns.length}
          onJump={(line) => rows.scrollToIndex(line, { align: 'center' })}
        />
      )}
      <div
        ref={scroller}
        className={`matrix matrix-${density}`}
        role="grid"
        tabIndex={0}
        aria-label="Clusters and stages"
        aria-rowcount={shown.length + 1}
        aria-colcount={columns.length + 1 + (hasTraffic ? 1 : 0)}
        aria-activedescendant={cursor && lineAt >= 0 ? cellId(id, cursor) : undefined}
        onKeyDown={(event) => {
          if (event.key === 'Enter') {
            event.preventDefault();
            openCursor();
          } else if (event.key === 'Home' || event.key === 'End') {
            event.preventDefault();
            go(event.key === 'Home' ? firstRow(shown) : shown.length - 1, Math.max(0, columnAt));
          }
        }}
        {...hold}
      >
        <div role="presentation" style={{ width, height: rows.getTotalSize() + HEAD, position: 'relative' }}>
          <div role="row" aria-rowindex={1} className="matrix-head" style={{ height: HEAD, width }}>
            <span role="columnheader" aria-colindex={1} className="matrix-name" style={{ width: name }}>
              {props.clusters} clusters
            </span>
            {visible.map((at) => (
              <span
                key={at.key}
                role="columnheader"
                aria-colindex={at.index + 2}
                className="matrix-title truncate"
                title={columns[at.index]?.name}
                style={{ left: name + at.start, width: at.size }}
              >
                {columns[at.index]?.title}
              </span>
            ))}
            {hasTraffic && (
              <span
                role="columnheader"
                aria-colindex={columns.length + 2}
                className="matrix-title"
                title="as this run set and read it last"
                style={{ left: name + across.getTotalSize(), width: traffic }}
              >
                users now
              </span>
            )}
          </div>
          {rows.getVirtualItems().map((at) => {
            const line = shown[at.index];
            if (line === undefined) return null;
            const position = { top: at.start + HEAD, height: at.size, width };
            if (line.kind === 'group') {
              return (
                <div key={at.key} role="row" aria-rowindex={at.index + 2} className="matrix-row matrix-group" style={position}>
                  <div role="gridcell" aria-colspan={columns.length + 1} className="matrix-group-cell">
                    <GroupHead
                      group={line.group}
                      isFolded={props.folded.has(line.group.name)}
                      onFold={() => props.onFold(line.group.name)}
                    />
                  </div>
                </div>
              );
            }
            return (
              <div key={at.key} role="row" aria-rowindex={at.index + 2} className="matrix-row" style={position}>
                <RowCells
                  row={line.row}
                  first={first}
                  last={last}
                  width={size.column}
                  density={density}
                  cursor={cursor?.cluster === line.row.cluster ? cursor.column : ''}
                  open={open?.cluster === line.row.cluster ? open.column : ''}
                  id={id}
                  name={name}
                  traffic={hasTraffic ? name + across.getTotalSize() : -1}
                  onOpen={onOpen}
                />
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}

interface RowProps {
  row: Row;
  first: number;
  last: number;
  width: number;
  /** Width of the clusters' names. */
  name: number;
  density: CellDensity;
  /** Column of the keyboard's place in this row; empty: it is elsewhere. */
  cursor: string;
  open: string;
  id: string;
  /** Where the split begins; negative: there is none. */
  traffic: number;
  onOpen: Props['onOpen'];
}

const RowCells = memo(
  function RowCells(props: RowProps) {
    const { row, density, id } = props;
    const split = props.traffic >= 0 ? splitOf(row) : null;
    return (
      <>
        <span role="rowheader" aria-colindex={1} className="matrix-name" style={{ width: props.name }} title={row.leftOut || row.cluster}>
          <span className="truncate">{row.cluster}</span>
          {row.leftOut && <span className="muted small"> left out</span>}
        </span>
        {row.cells.slice(props.first, props.last + 1).map((cell, offset) => {
          const index = props.first + offset;
          return (
            cell && (
              <MatrixCell
                key={cell.column.key}
                id={cellId(id, { cluster: row.cluster, column: cell.column.key })}
                row={row}
                cell={cell}
                index={index}
                left={props.name + index * props.width}
                width={props.width}
                density={density}
                isCursor={props.cursor === cell.column.key}
                isOpen={props.open === cell.column.key}
                onOpen={props.onOpen}
              />
            )
          );
        })}
        {split && (
          <span role="gridcell" aria-colindex={row.cells.length + 2} className="matrix-split" style={{ left: props.traffic, width: TRAFFIC }}>
            <SplitBar split={split} />
          </span>
        )}
      </>
    );
  },
  (before, after) =>
    (Object.keys(after) as (keyof RowProps)[]).every((key) => key === 'row' || key === 'onOpen' || before[key] === after[key]) &&
    isSameRow(before.row, after.row),
);

/** Rows are laid out anew with each event; what they show may be the same. */
export function isSameRow(before: Row, after: Row): boolean {
  return (
    before.cluster === after.cluster &&
    before.leftOut === after.leftOut &&
    before.cells.length === after.cells.length &&
    before.cells.every(
      (cell, index) =>
        cell?.task === after.cells[index]?.task &&
        cell?.status === after.cells[index]?.status &&
        cell?.column.key === after.cells[index]?.column.key,
    )
  );
}

interface CellProps {
  id: string;
  row: Row;
  cell: Cell;
  index: number;
  left: number;
  width: number;
  density: CellDensity;
  isCursor: boolean;
  isOpen: boolean;
  onOpen: Props['onOpen'];
}

function MatrixCell(props: CellProps) {
  return props.cell.task.status === 'running' ? <RunningCell {...props} /> : <CellAt {...props} now={0} />;
}

/** Only what runs has a clock that ticks. */
function RunningCell(props: CellProps) {
  return <CellAt {...props} now={useNow()} />;
}

function CellAt(props: CellProps & { now: number }) {
  const { cell, row, density, now } = props;
  const { tone, word } = stateOf(cell.status);
  const progress = progressOf(cell.task);
  const sentence = sentenceOf(cell);
  const figure = density === 'shape' ? '' : figureOf(cell, now);
  return (
    // The grid takes the keys, so that the focus stays where it is whatever is drawn anew.
    // eslint-disable-next-line jsx-a11y/click-events-have-key-events
    <div
      id={props.id}
      role="gridcell"
      tabIndex={-1}
      aria-colindex={props.index + 2}
      aria-selected={props.isOpen}
      aria-label={spokenCell(row.cluster, cell, now)}
      className={`matrix-cell cell-${tone}${props.isCursor ? ' cell-cursor' : ''}`}
      style={{ left: props.left, width: props.width }}
      title={density === 'sentence' ? undefined : sentence || undefined}
      onClick={() => props.onOpen(row, cell, { replace: false })}
    >
      <StateShape status={cell.status} {...(progress === undefined ? {} : { progress })} />
      {figure && (
        <span aria-hidden="true" className="cell-figure">
          {figure}
        </span>
      )}
      {density === 'sentence' && (
        <span aria-hidden="true" className="cell-sentence">
          {sentence || word}
        </span>
      )}
    </div>
  );
}

function cellId(id: string, place: Place): string {
  return `${id}-${place.cluster}-${place.column}`.replace(/[^\w-]/g, '_');
}

function lineKeyAt(lines: readonly Line[], index: number): string {
  const line = lines[index];
  return line ? lineKey(line) : String(index);
}

function firstRow(lines: readonly Line[]): number {
  return lines.findIndex((line) => line.kind === 'row');
}

/** The next line in a direction that is a cluster; the same where there is none. */
export function nextRow(lines: readonly Line[], from: number, step: number): number {
  if (step === 0) return from;
  for (let at = from + step; at >= 0 && at < lines.length; at += step) {
    if (lines[at]?.kind === 'row') return at;
  }
  return from;
}

function clamp(index: number, length: number): number {
  return Math.max(0, Math.min(length - 1, index));
}
