import { useEffect, useId, useRef, type ReactNode } from 'react';

import { Button } from './button';
import './drawer.css';

/**
 * Details beside a screen, never over it: what it is about stays in sight and in use.
 *
 * Escape closes it from anywhere within; the focus goes into it only when `takesFocus`.
 */
export function Drawer({
  title,
  onClose,
  takesFocus = false,
  children,
}: {
  title: ReactNode;
  onClose: () => void;
  takesFocus?: boolean;
  children: ReactNode;
}) {
  const element = useRef<HTMLElement>(null);
  const id = useId();
  useEffect(() => {
    if (takesFocus) element.current?.focus();
  }, [takesFocus]);
  return (
    // eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- Escape, once for all within
    <aside
      ref={element}
      className="drawer"
      aria-labelledby={id}
      tabIndex={-1}
      onKeyDown={(event) => {
        if (event.key === 'Escape' && !event.defaultPrevented) {
          event.preventDefault();
          onClose();
        }
      }}
    >
      <header className="drawer-head">
        <h2 id={id} className="grow">
          {title}
        </h2>
        <Button kind="quiet" onClick={onClose} aria-label="Close details" aria-keyshortcuts="Escape">
          ✕
        </Button>
      </header>
      <div className="drawer-body">{children}</div>
    </aside>
  );
}
