/** How traffic of one cluster is divided, as wanted and as seen. Pure. */

import { parsed } from '../design/clock';
import type { Row } from './matrix';
import { VARIANTS } from './matrix';

export interface Share {
  variant: string;
  /** Percent. */
  weight: number;
  /** Percent where the share begins. */
  start: number;
}

export interface Split {
  /** As read back; empty: nothing was yet. */
  observed: Share[];
  wanted: Share[];
  /** The two differ. */
  differs: boolean;
}

/** Lay weights out from 0 to 100, the known variants first. */
export function shares(weights: Record<string, number>): Share[] {
  const names = [...VARIANTS, ...Object.keys(weights).filter((name) => !VARIANTS.includes(name as never))];
  let start = 0;
  return names
    .filter((name) => (weights[name] ?? 0) > 0)
    .map((variant) => {
      const weight = weights[variant] ?? 0;
      const share = { variant, weight, start };
      start += weight;
      return share;
    });
}

/**
 * What users of a row's cluster meet now; null: this run says nothing of traffic there.
 *
 * Every stage may report it: those that route, those that bring traffic back to the primary, and
 * the rollback. What was begun last counts; what was seen stands until something newer is seen.
 */
export function splitOf(row: Row): Split | null {
  const tasks = row.cells
    .flatMap((cell) => (cell?.task.started ? [cell.task] : []))
    .reverse()
    .sort((one, other) => (parsed(other.started) ?? 0) - (parsed(one.started) ?? 0));
  const wanted = tasks.find((task) => !isEmpty(task.wantedWeights))?.wantedWeights;
  const observed = tasks.find((task) => !isEmpty(task.observedWeights))?.observedWeights;
  return wanted || observed ? splitFrom(wanted ?? observed ?? {}, observed ?? {}) : null;
}

function isEmpty(weights: Record<string, number>): boolean {
  return Object.keys(weights).length === 0;
}

export function splitFrom(wanted: Record<string, number>, observed: Record<string, number>): Split {
  const seen = Object.keys(observed).length > 0;
  const names = new Set([...Object.keys(wanted), ...Object.keys(observed)]);
  const differs = seen && [...names].some((name) => (wanted[name] ?? 0) !== (observed[name] ?? 0));
  return { wanted: shares(wanted), observed: shares(observed), differs };
}

/** `primary 80, canary 10, baseline 10`. */
export function splitSentence({ observed, wanted, differs }: Split): string {
  const list = (parts: readonly Share[]) => parts.map((part) => `${part.variant} ${part.weight}`).join(', ');
  if (observed.length === 0) return `wanted ${list(wanted)}; not read back yet`;
  return differs ? `${list(observed)}; wanted ${list(wanted)}` : list(observed);
}
