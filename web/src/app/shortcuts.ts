/** Keys: one press, or a modifier and a key. A screen adds its own while it is shown. */

import { useEffect, useRef, useSyncExternalStore } from 'react';

export interface Shortcut {
  /** As `KeyboardEvent.key`, lower case; `mod+k` is ⌘K or Ctrl-K. */
  key: string;
  title: string;
  run: () => void;
}

const NAMES: Record<string, string> = {
  'mod+k': '⌘K or Ctrl K',
  arrowup: '↑',
  arrowdown: '↓',
  arrowleft: '←',
  arrowright: '→',
  enter: 'Enter',
  escape: 'Esc',
};

/** A key as it is written on keyboards. */
export function nameOfKey(key: string): string {
  return NAMES[key] ?? key;
}

let shortcuts: readonly Shortcut[] = [];
const listeners = new Set<() => void>();

function set(next: readonly Shortcut[]): void {
  shortcuts = next;
  for (const listener of listeners) listener();
}

/** Whether keys are taken there: by a text, or by something that scrolls. */
export function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable ||
      /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) ||
      // Scrolls by its own keys.
      target.closest('[data-own-keys]') !== null)
  );
}

/** Name the key of an event as shortcuts do. */
export function keyOf(event: Pick<KeyboardEvent, 'key' | 'metaKey' | 'ctrlKey' | 'altKey'>): string {
  const key = event.key.toLowerCase();
  if (event.altKey) return '';
  return event.metaKey || event.ctrlKey ? `mod+${key}` : key;
}

/** Handle a key; the newest shortcut of a key wins. */
export function handleKey(event: KeyboardEvent): void {
  const key = keyOf(event);
  if (event.defaultPrevented || (isTyping(event.target) && !key.startsWith('mod+'))) return;
  // A question that is open has the keyboard.
  if (document.querySelector('dialog[open]') && !key.startsWith('mod+')) return;
  const found = shortcuts.findLast((shortcut) => shortcut.key === key);
  if (found) {
    event.preventDefault();
    found.run();
  }
}

/** Offer keys while this component is shown. */
export function useShortcuts(offered: readonly Shortcut[]): void {
  const latest = useRef(offered);
  useEffect(() => {
    latest.current = offered;
  });
  const names = offered.map((shortcut) => `${shortcut.key}\n${shortcut.title}`).join('\n\n');
  useEffect(() => {
    const mine = names === '' ? [] : names.split('\n\n').map((name): Shortcut => {
      const [key = '', title = ''] = name.split('\n');
      return { key, title, run: () => latest.current.find((each) => each.key === key)?.run() };
    });
    set([...shortcuts, ...mine]);
    return () => set(shortcuts.filter((shortcut) => !mine.includes(shortcut)));
  }, [names]);
}

/** All keys that work now. */
export function useAllShortcuts(): readonly Shortcut[] {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => shortcuts,
  );
}
