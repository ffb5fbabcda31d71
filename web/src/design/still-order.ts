import { useRef, useState } from 'react';

/** Keep known items in the order in which they stood; new ones come last. */
export function keepOrder<Item>(
  items: readonly Item[],
  order: readonly string[],
  keyOf: (item: Item) => string,
): Item[] {
  const known = new Map(items.map((item) => [keyOf(item), item]));
  const kept = order.flatMap((key) => {
    const item = known.get(key);
    known.delete(key);
    return item === undefined ? [] : [item];
  });
  return [...kept, ...known.values()];
}

/**
 * Items in their order, which waits while the pointer or the focus is among them: nothing moves
 * under a hand. `still` belongs on the element around them.
 */
export function useStillOrder<Item>(items: readonly Item[], keyOf: (item: Item) => string) {
  const order = useRef<readonly string[]>([]);
  const [isPointed, setPointed] = useState(false);
  const [isFocused, setFocused] = useState(false);
  const isStill = isPointed || isFocused;
  const shown = isStill ? keepOrder(items, order.current, keyOf) : [...items];
  order.current = shown.map(keyOf);
  return {
    items: shown,
    still: {
      onPointerEnter: () => setPointed(true),
      onPointerLeave: () => setPointed(false),
      onFocus: () => setFocused(true),
      onBlur: () => setFocused(false),
    },
  };
}
