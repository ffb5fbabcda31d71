/** What the address says: words, bounded; anything else is left out. */

import { useCallback } from 'react';
import { useNavigate } from '@tanstack/react-router';

export type Search = Record<string, string>;

const LONGEST = 500;

/** Read an address's query: every value is a word. */
export function parseSearch(text: string): Search {
  return Object.fromEntries(new URLSearchParams(text));
}

/** Write it; empty words are left out. */
export function stringifySearch(search: Record<string, unknown>): string {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(search)) {
    if (typeof value === 'string' && value !== '') words.set(name, value);
  }
  const text = words.toString();
  return text ? `?${text}` : '';
}

/** Take those words of the address that a screen knows. */
export function words<Name extends string>(...names: Name[]) {
  return (search: Record<string, unknown>): Partial<Record<Name, string>> => {
    const taken: Partial<Record<Name, string>> = {};
    for (const name of names) {
      const value = search[name];
      if (typeof value === 'string' && value !== '') taken[name] = value.slice(0, LONGEST);
    }
    return taken;
  };
}

/**
 * Change some words of the address; an empty one is taken away.
 *
 * `replace`: Back skips it (what is typed, or the cell that arrows walk over).
 */
export function useChangeSearch(): (changes: Search, options?: { replace?: boolean }) => void {
  const navigate = useNavigate();
  return useCallback(
    (changes, options) => {
      void navigate({
        to: '.',
        search: ((before: Record<string, unknown>) => {
          const after: Record<string, unknown> = { ...before, ...changes };
          return Object.fromEntries(Object.entries(after).filter(([, value]) => value !== ''));
        }) as never,
        replace: options?.replace ?? false,
        resetScroll: false,
      });
    },
    [navigate],
  );
}
