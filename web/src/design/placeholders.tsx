/** What a screen shows where there is nothing to show: it loads, it is empty, it failed. */

import type { ReactNode } from 'react';

import { Problem } from '../api/client';
import { Button } from './button';
import './placeholders.css';

/** Lines where text will be, as many as it will have, so that nothing jumps. */
export function Loading({ lines = 3, label = 'Loading' }: { lines?: number; label?: string }) {
  return (
    <div className="loading" role="status">
      <span className="spoken">{label}</span>
      {Array.from({ length: lines }, (_, line) => (
        <span key={line} className="loading-line" aria-hidden="true" />
      ))}
    </div>
  );
}

/** Nothing is there: say what fills the page. */
export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="empty">
      <h2>{title}</h2>
      {children && <div className="muted">{children}</div>}
    </div>
  );
}

/** It could not be read: what the server said, what to do, and once more. */
export function Failed({ error, onRetry }: { error: unknown; onRetry?: (() => void) | undefined }) {
  const hint = error instanceof Problem ? error.hint : '';
  return (
    <div className="empty" role="alert">
      <h2>{error instanceof Error ? error.message : 'something went wrong'}</h2>
      {hint && <div className="muted">{hint}</div>}
      {onRetry && <Button onClick={onRetry}>Try again</Button>}
    </div>
  );
}
