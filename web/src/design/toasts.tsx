import { useSyncExternalStore } from 'react';

import './toasts.css';

interface Toast {
  id: number;
  tone: 'good' | 'bad';
  text: string;
  hint: string;
}

const LASTS_MS = 6_000;
const MOST = 4;
let toasts: readonly Toast[] = [];
let last = 0;
const listeners = new Set<() => void>();

function set(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

function dismiss(id: number): void {
  set(toasts.filter((toast) => toast.id !== id));
}

/** Say what came of something; what went wrong stays until it is closed. */
export function toast(tone: Toast['tone'], text: string, hint = ''): void {
  last += 1;
  const id = last;
  set([...toasts, { id, tone, text, hint }].slice(-MOST));
  if (tone === 'good') window.setTimeout(() => dismiss(id), LASTS_MS);
}

export function Toasts() {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => toasts,
  );
  return (
    <div className="toasts no-print" role="status" aria-live="polite">
      {shown.map((each) => (
        <div key={each.id} className={`toast toast-${each.tone}`}>
          <div className="grow">
            <div>{each.text}</div>
            {each.hint && <div className="muted small">{each.hint}</div>}
          </div>
          <button type="button" className="button button-quiet" onClick={() => dismiss(each.id)}>
            Close
          </button>
        </div>
      ))}
    </div>
  );
}
