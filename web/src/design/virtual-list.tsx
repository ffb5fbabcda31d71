import { useVirtualizer } from '@tanstack/react-virtual';
import { useRef, type ReactNode } from 'react';

/** A long list of rows of one height: only those in sight are there. */
export function VirtualList<Item>({
  items,
  rowHeight,
  keyOf,
  children,
  className = '',
  label,
  onEnd,
}: {
  items: readonly Item[];
  rowHeight: number;
  keyOf: (item: Item) => string;
  children: (item: Item, index: number) => ReactNode;
  className?: string;
  label: string;
  /** Called when the last rows come into sight. */
  onEnd?: () => void;
}) {
  const scroller = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 8,
    initialRect: { width: 800, height: 600 },
    getItemKey: (index) => {
      const item = items[index];
      return item === undefined ? index : keyOf(item);
    },
    onChange: (instance) => {
      const last = instance.getVirtualItems().at(-1);
      if (last && last.index >= items.length - 20) onEnd?.();
    },
  });
  return (
    // Scrolls by keyboard, so it takes the focus.
    // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <div ref={scroller} className={`virtual-list ${className}`} tabIndex={0} role="region" aria-label={label}>
      <ul style={{ height: rows.getTotalSize(), position: 'relative' }}>
        {rows.getVirtualItems().map((row) => {
          const item = items[row.index];
          return item === undefined ? null : (
            <li
              key={row.key}
              aria-setsize={items.length}
              aria-posinset={row.index + 1}
              style={{ position: 'absolute', insetInline: 0, top: row.start, height: row.size }}
            >
              {children(item, row.index)}
            </li>
          );
        })}
      </ul>
    </div>
  );
}
