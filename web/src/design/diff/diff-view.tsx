import { useState, type ReactNode } from 'react';

import { Button } from '../button';
import { useIsNarrow } from '../narrow';
import { fold, pair, type Block, type DiffLine, type Row } from './lines';
import './diff-view.css';

export type DiffMode = 'unified' | 'split';

const SIGNS = { same: ' ', removed: '−', added: '+' } as const;
const WORDS = { same: '', removed: 'removed: ', added: 'added: ' } as const;
/** A page stays usable with a text of any length; what is beyond is shown when asked for. */
const MOST_LINES = 2000;

/**
 * A difference as a table, unified or side by side; unchanged lines far from a change are folded.
 *
 * There is no room for two sides on a narrow screen: it is unified there.
 */
export function DiffView({
  lines,
  mode,
  label,
  sides = ['before', 'after'],
}: {
  lines: readonly DiffLine[];
  mode: DiffMode;
  label: string;
  /** What the two sides are. */
  sides?: readonly [string, string];
}) {
  const narrow = useIsNarrow();
  const [opened, setOpened] = useState<ReadonlySet<number>>(new Set());
  const [most, setMost] = useState(MOST_LINES);
  const split = mode === 'split' && !narrow;
  const blocks = fold(lines.slice(0, most));
  return (
    <div className="diff-scroll">
      <table className={split ? 'diff diff-split' : 'diff'}>
        <caption className="spoken">{`${label}: ${sides[0]} and ${sides[1]}`}</caption>
        {split && (
          <thead>
            <tr>
              <th colSpan={2}>{sides[0]}</th>
              <th colSpan={2}>{sides[1]}</th>
            </tr>
          </thead>
        )}
        <tbody>
          {blocks.map((block, index) =>
            block.kind === 'fold' && !opened.has(index) ? (
              <Fold
                key={index}
                block={block}
                columns={split ? 4 : 3}
                onOpen={() => setOpened(new Set([...opened, index]))}
              />
            ) : (
              rowsOf(block, split)
            ),
          )}
        </tbody>
      </table>
      {lines.length > most && (
        <Button kind="quiet" onClick={() => setMost(most + MOST_LINES)}>
          Show more ({lines.length - most} lines)
        </Button>
      )}
    </div>
  );
}

function rowsOf(block: Block, split: boolean): ReactNode {
  if (split) return pair(block.lines).map((row) => <SplitRow key={keyOf(row.before ?? row.after)} row={row} />);
  return block.lines.map((line) => (
    <tr key={keyOf(line)} className={`diff-${line.sign}`}>
      <td className="diff-number">{line.before ?? ''}</td>
      <td className="diff-number">{line.after ?? ''}</td>
      <Text line={line} />
    </tr>
  ));
}

function keyOf(line: DiffLine | null): string {
  return `${line?.before ?? ''}:${line?.after ?? ''}`;
}

function SplitRow({ row }: { row: Row }) {
  return (
    <tr>
      <td className="diff-number">{row.before?.before ?? ''}</td>
      <Text line={row.before} />
      <td className="diff-number">{row.after?.after ?? ''}</td>
      <Text line={row.after} />
    </tr>
  );
}

function Text({ line }: { line: DiffLine | null }) {
  if (!line) return <td className="diff-text diff-nothing" />;
  return (
    <td className={`diff-text diff-text-${line.sign}`}>
      <span className="diff-sign" aria-hidden="true">
        {SIGNS[line.sign]}
      </span>
      <span className="spoken">{WORDS[line.sign]}</span>
      {line.text}
    </td>
  );
}

function Fold({ block, columns, onOpen }: { block: Block; columns: number; onOpen: () => void }) {
  return (
    <tr className="diff-fold">
      <td colSpan={columns}>
        <button type="button" onClick={onOpen}>
          {`⋯ ${block.lines.length} unchanged lines`}
        </button>
      </td>
    </tr>
  );
}

/** Chooses how differences are laid out. */
export function DiffModes({ mode, onChoose }: { mode: DiffMode; onChoose: (mode: DiffMode) => void }) {
  return (
    <div className="row diff-modes" role="group" aria-label="Layout of differences">
      {(['unified', 'split'] as const).map((each) => (
        <Button
          key={each}
          kind={each === mode ? 'plain' : 'quiet'}
          aria-pressed={each === mode}
          onClick={() => onChoose(each)}
        >
          {each === 'split' ? 'Side by side' : 'Unified'}
        </Button>
      ))}
    </div>
  );
}

export function readMode(word: string | undefined): DiffMode {
  return word === 'split' ? 'split' : 'unified';
}
