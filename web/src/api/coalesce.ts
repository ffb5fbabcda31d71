/** Many things that happen within one frame are shown at once. */

export interface Schedule {
  request: (callback: () => void) => number;
  cancel: (handle: number) => void;
}

/** A frame of the screen; a page in the background has none, so there it is a second. */
const frames: Schedule = {
  request: (callback) => {
    if (document.hidden) return -window.setTimeout(callback, 1000);
    return requestAnimationFrame(callback);
  },
  cancel: (handle) => {
    if (handle < 0) window.clearTimeout(-handle);
    else cancelAnimationFrame(handle);
  },
};

export interface Coalescing<Item> {
  push: (item: Item) => void;
  /** Forget what has not been delivered. */
  cancel: () => void;
}

/** Deliver everything that is pushed within a frame together, in order. */
export function coalesce<Item>(
  deliver: (items: Item[]) => void,
  schedule: Schedule = frames,
): Coalescing<Item> {
  let waiting: Item[] = [];
  let handle: number | null = null;
  const flush = () => {
    handle = null;
    const items = waiting;
    waiting = [];
    deliver(items);
  };
  return {
    push(item) {
      waiting.push(item);
      handle ??= schedule.request(flush);
    },
    cancel() {
      if (handle !== null) schedule.cancel(handle);
      handle = null;
      waiting = [];
    },
  };
}
