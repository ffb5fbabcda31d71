import { memo } from 'react';

import type { Tone } from '../design/state';
import { toneOf, type Line } from './matrix';
import './heat-strip.css';

const WIDTH = 40;
const LOUD: Tone[] = ['good', 'busy', 'quiet', 'wait', 'bad'];

/** One path of rectangles for each tone: all cells of a run as a map to jump by. */
export function strip(lines: readonly Line[]): Map<Tone, string> {
  const paths = new Map<Tone, string[]>();
  lines.forEach((line, place) => {
    if (line.kind !== 'row') return;
    line.row.cells.forEach((cell, column) => {
      const tone = toneOf(cell);
      if (tone === null || cell?.status === 'pending') return;
      // Trouble is seen however thin its line is.
      const height = tone === 'bad' || tone === 'wait' ? 1.6 : 1;
      const piece = `M${column} ${place}h0.86v${height}h-0.86z`;
      const found = paths.get(tone);
      if (found) found.push(piece);
      else paths.set(tone, [piece]);
    });
  });
  return new Map(LOUD.filter((tone) => paths.has(tone)).map((tone) => [tone, paths.get(tone)?.join('') ?? '']))
    .set('quiet', paths.get('quiet')?.join('') ?? '');
}

export const HeatStrip = memo(function HeatStrip({
  lines,
  columns,
  onJump,
}: {
  lines: readonly Line[];
  columns: number;
  onJump: (line: number) => void;
}) {
  const paths = strip(lines);
  return (
    // A shortcut for the pointer; the keyboard has Home, End and the pages of the matrix itself.
    <div
      className="heat-strip no-print"
      aria-hidden="true"
      title="All clusters: press to go there"
      onClick={(event) => {
        const box = event.currentTarget.getBoundingClientRect();
        const share = (event.clientY - box.top) / box.height;
        onJump(Math.min(lines.length - 1, Math.max(0, Math.floor(share * lines.length))));
      }}
    >
      <svg viewBox={`0 0 ${Math.max(1, columns)} ${Math.max(1, lines.length)}`} width={WIDTH} preserveAspectRatio="none">
        {LOUD.map((tone) => (
          <path key={tone} className={`heat-${tone}`} d={paths.get(tone) ?? ''} />
        ))}
      </svg>
    </div>
  );
});
