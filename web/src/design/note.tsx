import type { ReactNode } from 'react';

import './note.css';

/** Something worth a thought beside the matter: a warning, a refusal, a bound that was reached. */
export function Note({ children }: { children: ReactNode }) {
  return <p className="note">{children}</p>;
}
