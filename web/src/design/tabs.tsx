import * as RadixTabs from '@radix-ui/react-tabs';
import type { ReactNode } from 'react';

import './tabs.css';

export interface TabItem {
  name: string;
  title: ReactNode;
  content: ReactNode;
}

/** Tabs whose chosen one is held elsewhere: in the address. */
export function Tabs({
  label,
  items,
  chosen,
  onChoose,
}: {
  label: string;
  items: TabItem[];
  chosen: string;
  onChoose: (name: string) => void;
}) {
  const known = items.some((item) => item.name === chosen) ? chosen : (items[0]?.name ?? '');
  return (
    <RadixTabs.Root value={known} onValueChange={onChoose}>
      <RadixTabs.List className="tabs-list" aria-label={label}>
        {items.map((item) => (
          <RadixTabs.Trigger key={item.name} value={item.name} className="tab">
            {item.title}
          </RadixTabs.Trigger>
        ))}
      </RadixTabs.List>
      {items.map((item) => (
        <RadixTabs.Content key={item.name} value={item.name} className="tab-panel">
          {item.content}
        </RadixTabs.Content>
      ))}
    </RadixTabs.Root>
  );
}
