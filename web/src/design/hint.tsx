import * as Tooltip from '@radix-ui/react-tooltip';
import { useState, type ReactNode } from 'react';

import './hint.css';

/**
 * A sentence about what it wraps, on hover and on focus; an empty one is not shown.
 *
 * What is wrapped stays the same element whether there is a sentence or not, and so keeps its focus.
 */
export function Hint({ text, children }: { text: ReactNode; children: ReactNode }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <Tooltip.Provider delayDuration={250}>
      <Tooltip.Root open={isOpen && Boolean(text)} onOpenChange={setOpen}>
        <Tooltip.Trigger asChild>{children}</Tooltip.Trigger>
        <Tooltip.Portal>
          <Tooltip.Content className="hint" sideOffset={6} collisionPadding={8}>
            {text}
          </Tooltip.Content>
        </Tooltip.Portal>
      </Tooltip.Root>
    </Tooltip.Provider>
  );
}
