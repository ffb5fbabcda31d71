import { calendar, duration, exact, parsed, relative } from './clock';
import { useNow } from './now';

interface Shown {
  at: string | null | undefined;
  /** `relative`: `12 s ago`; `calendar`: `14:02`, `yesterday`. */
  as?: 'relative' | 'calendar';
  /** What there is where there is no time. */
  none?: string;
}

/** A time as people read it, the exact one on hover and for screen readers. */
export function Time({ at, as = 'relative', none = '–' }: Shown) {
  const now = useNow();
  const then = parsed(at);
  if (then === null) return <span className="muted">{none}</span>;
  const shown = as === 'relative' ? relative(then, now) : calendar(then, now);
  return (
    <time dateTime={at ?? ''} title={exact(then)}>
      <span aria-hidden="true">{shown}</span>
      <span className="spoken">{`${shown}, ${exact(then)}`}</span>
    </time>
  );
}

/** How long it has been going on, or took. */
export function Elapsed({ from, until }: { from: string | null; until: string | null }) {
  const now = useNow();
  const start = parsed(from);
  if (start === null) return null;
  return <span>{duration(((parsed(until) ?? now) - start) / 1000)}</span>;
}
