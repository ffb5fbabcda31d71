/** Nothing moves under the pointer: lists keep their order while somebody points at them. */

import { useCallback, useEffect, useMemo, useRef, useState } from 'react';

/** Order `items` as `before` names them; those that are new come last, in their own order. */
export function holdOrder<Item>(
  before: readonly string[],
  items: readonly Item[],
  keyOf: (item: Item) => string,
): Item[] {
  const place = new Map(before.map((key, index) => [key, index]));
  const placeOf = (item: Item) => place.get(keyOf(item)) ?? before.length;
  return [...items].sort((one, other) => placeOf(one) - placeOf(other));
}

interface Held<Item> {
  items: readonly Item[];
  /** For the element that holds the list. */
  hold: { onPointerEnter: () => void; onPointerLeave: () => void };
}

/**
 * Show `items` in the order they come, but as they stood while the pointer is among them.
 *
 * `keyOf` has to be the same function each time.
 */
export function useHeldOrder<Item>(
  items: readonly Item[],
  keyOf: (item: Item) => string,
): Held<Item> {
  const [isHeld, setHeld] = useState(false);
  const order = useRef<string[]>([]);
  const shown = useMemo(
    () => (isHeld ? holdOrder(order.current, items, keyOf) : items),
    [isHeld, items, keyOf],
  );
  useEffect(() => {
    order.current = shown.map(keyOf);
  }, [shown, keyOf]);
  const onPointerEnter = useCallback(() => setHeld(true), []);
  const onPointerLeave = useCallback(() => setHeld(false), []);
  return { items: shown, hold: { onPointerEnter, onPointerLeave } };
}
