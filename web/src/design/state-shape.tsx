import { useId, type ReactNode } from 'react';

import { stateOf, type Shape } from './state';
import './state-shape.css';

interface Drawn {
  shape: Shape;
  /** Of `running`: from 0 to 1. */
  progress?: number;
}

const stroke = { fill: 'none', stroke: 'currentColor', strokeWidth: 1.8, strokeLinecap: 'round' } as const;

function Hatched({ children }: { children?: ReactNode }) {
  const id = useId();
  return (
    <>
      <defs>
        <pattern id={id} width="3.2" height="3.2" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <rect width="1.2" height="3.2" fill="currentColor" />
        </pattern>
      </defs>
      <circle cx="8" cy="8" r="5.6" fill={`url(#${id})`} stroke="currentColor" strokeWidth="1.2" />
      {children}
    </>
  );
}

function Pie({ progress }: { progress: number }) {
  const share = Math.min(0.999, Math.max(0, progress));
  const angle = 2 * Math.PI * share;
  const x = 8 + 4 * Math.sin(angle);
  const y = 8 - 4 * Math.cos(angle);
  return (
    <>
      <circle cx="8" cy="8" r="5.8" {...stroke} strokeWidth={1.4} />
      <path d={`M8 8V4A4 4 0 ${share > 0.5 ? 1 : 0} 1 ${x} ${y}Z`} fill="currentColor" />
    </>
  );
}

function drawn({ shape, progress }: Drawn): ReactNode {
  switch (shape) {
    case 'done':
      return <path d="M3.2 8.6l3.1 3.1 6.5-7.2" {...stroke} strokeWidth={2} />;
    case 'running':
      return <Pie progress={progress ?? 0.5} />;
    case 'waiting':
      return (
        <>
          <circle cx="8" cy="8" r="5.8" {...stroke} strokeWidth={1.4} />
          <path d="M8 4.6V8l2.3 1.6" {...stroke} strokeWidth={1.5} />
        </>
      );
    case 'paused':
      return <path d="M5.4 3.6v8.8M10.6 3.6v8.8" {...stroke} strokeWidth={2.4} />;
    case 'failed':
      return <path d="M4 4l8 8M12 4l-8 8" {...stroke} strokeWidth={2.2} />;
    case 'back':
      return <path d="M3.2 3.2v3.4h3.4M3.5 6.4A5.2 5.2 0 1 1 3 9.4" {...stroke} />;
    case 'skipped':
      return <path d="M3.6 8h8.8" {...stroke} />;
    case 'cancelled':
      return (
        <>
          <circle cx="8" cy="8" r="5.6" {...stroke} strokeWidth={1.5} />
          <path d="M5 8h6" {...stroke} strokeWidth={1.5} />
        </>
      );
    case 'unreachable':
      return (
        <Hatched>
          <path d="M3 13L13 3" {...stroke} strokeWidth={2} />
        </Hatched>
      );
    case 'pending':
      return <circle cx="8" cy="8" r="1.7" fill="currentColor" />;
    case 'differs':
      return <path d="M3 6h10M3 10h10M10.6 3L5.4 13" {...stroke} strokeWidth={1.6} />;
    case 'unknown':
      return <Hatched />;
  }
}

/** Only the shape; a word has to stand beside it, or `label` says it. */
export function StateShape({
  status,
  progress,
  label,
}: {
  status: string;
  progress?: number;
  label?: string;
}) {
  const { shape, tone } = stateOf(status);
  return (
    <svg
      className={`state-shape tone-${tone}`}
      viewBox="0 0 16 16"
      width="16"
      height="16"
      {...(label === undefined ? { 'aria-hidden': true } : { role: 'img', 'aria-label': label })}
    >
      {drawn({ shape, ...(progress === undefined ? {} : { progress }) })}
    </svg>
  );
}

/** Shape and word. */
export function StateWord({
  status,
  progress,
  word,
}: {
  status: string;
  progress?: number;
  word?: string;
}) {
  const known = stateOf(status);
  return (
    <span className={`state-word tone-text-${known.tone}`}>
      <StateShape status={status} {...(progress === undefined ? {} : { progress })} />
      {word ?? known.word}
    </span>
  );
}
