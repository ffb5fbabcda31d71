import type { Wave } from './fleet-model';

export const WAVE_WORDS = { done: 'done', running: 'under way', pending: 'to come' } as const;

/** A wave's number; its border says how far it is, and so does the word for screen readers. */
export function WaveBadge({ wave }: { wave: Wave }) {
  return (
    <span className={`wave-badge wave-${wave.state}`} title={`wave ${wave.name}, ${WAVE_WORDS[wave.state]}`}>
      <span className="spoken">wave </span>
      {wave.number}
      <span className="spoken">{`, ${WAVE_WORDS[wave.state]}`}</span>
    </span>
  );
}
