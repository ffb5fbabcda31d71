/** What jsdom lacks and the screens use; kept to what the standard says. */

import { cleanup, configure } from '@testing-library/react';
import { afterEach } from 'vitest';

afterEach(cleanup);
// Only a hang takes so long.
configure({ asyncUtilTimeout: 100_000 });

// The test of the built pages runs without a browser.
if (typeof window !== 'undefined') standIn();

function standIn(): void {
  HTMLDialogElement.prototype.showModal = function showModal() {
    this.open = true;
    this.querySelector<HTMLElement>('input, textarea, button, a')?.focus();
  };
  HTMLDialogElement.prototype.close = function close() {
    this.open = false;
  };
  Element.prototype.scrollIntoView = () => undefined;
  window.scrollTo = () => undefined;
  window.matchMedia = (query) =>
    Object.assign(new EventTarget(), {
      matches: false,
      media: query,
      onchange: null,
      addListener: () => undefined,
      removeListener: () => undefined,
    });
  globalThis.ResizeObserver = class {
    observe() {
      return undefined;
    }
    unobserve() {
      return undefined;
    }
    disconnect() {
      return undefined;
    }
  };
  // Nothing is laid out here: every element is as large as a window, so that lists show some rows.
  Object.defineProperties(HTMLElement.prototype, {
    clientHeight: { get: () => 600 },
    clientWidth: { get: () => 1200 },
  });
  HTMLCanvasElement.prototype.getContext = () => null;
}
