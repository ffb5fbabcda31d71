import type { ButtonHTMLAttributes, ReactNode, Ref } from 'react';

import { Hint } from './hint';
import './button.css';

interface Props extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'disabled'> {
  kind?: 'plain' | 'primary' | 'danger' | 'quiet';
  /** Why it cannot be pressed now; it stays where it is and says so, on focus too. */
  disabledReason?: string | undefined;
  children: ReactNode;
  ref?: Ref<HTMLButtonElement>;
}

export function Button({ kind = 'plain', disabledReason, className, onClick, children, ...rest }: Props) {
  const isDisabled = Boolean(disabledReason);
  return (
    <Hint text={disabledReason ?? ''}>
      <button
        type="button"
        {...rest}
        className={['button', `button-${kind}`, className].filter(Boolean).join(' ')}
        // Not `disabled`: that would take it away from the keyboard, and its reason with it.
        aria-disabled={isDisabled || undefined}
        onClick={isDisabled ? (event) => event.preventDefault() : onClick}
      >
        {children}
      </button>
    </Hint>
  );
}
