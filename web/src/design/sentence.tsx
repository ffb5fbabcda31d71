import type { ReactNode } from 'react';

import { StateShape } from './state-shape';
import { stateOf } from './state';
import './sentence.css';

/** The first line of a screen: what is the matter, as the command line says it. */
export function Sentence({ status, children }: { status: string; children: ReactNode }) {
  const { tone, word } = stateOf(status);
  return (
    <p className={`sentence sentence-${tone}`}>
      <StateShape status={status} label={word} />
      <span>{children}</span>
    </p>
  );
}
