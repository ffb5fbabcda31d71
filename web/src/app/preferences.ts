/** What a person chose for this browser: theme and density. */

import { useSyncExternalStore } from 'react';

export type Theme = 'system' | 'light' | 'dark';
export type Density = 'comfortable' | 'compact';

interface Preferences {
  theme: Theme;
  density: Density;
}

const KEY = 'volary.preferences';
const listeners = new Set<() => void>();
let current: Preferences = read();

function read(): Preferences {
  let said: Partial<Preferences>;
  try {
    said = JSON.parse(localStorage.getItem(KEY) ?? '{}') as Partial<Preferences>;
  } catch {
    // Storage may be forbidden, or hold what another version wrote.
    said = {};
  }
  return {
    theme: said.theme === 'light' || said.theme === 'dark' ? said.theme : 'system',
    density: said.density === 'compact' ? 'compact' : 'comfortable',
  };
}

/** Choose, from now on and when the page is opened again. */
export function choose(changes: Partial<Preferences>): void {
  current = { ...current, ...changes };
  try {
    localStorage.setItem(KEY, JSON.stringify(current));
  } catch {
    // It lasts until the page is closed then.
  }
  apply();
  for (const listener of listeners) listener();
}

/** Bring the page in line with what was chosen, and keep it so when the system's theme changes. */
export function startPreferences(): void {
  systemIsDark().addEventListener('change', apply);
  apply();
}

function systemIsDark(): MediaQueryList {
  return window.matchMedia('(prefers-color-scheme: dark)');
}

function apply(): void {
  const isDark = current.theme === 'dark' || (current.theme === 'system' && systemIsDark().matches);
  document.documentElement.dataset['theme'] = isDark ? 'dark' : 'light';
  document.documentElement.dataset['density'] = current.density;
}

export function usePreferences(): Preferences {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => current,
  );
}
