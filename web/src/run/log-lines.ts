/** Lines of a log as a browser can hold them: the newest, and how many are gone. Pure. */

export interface LogEntry {
  position: number;
  at: string;
  level: string;
  text: string;
  stage: string;
  target: string;
  attempt: number;
}

export interface LogState {
  lines: readonly LogEntry[];
  /** Lines before the first that is held. */
  dropped: number;
  ended: boolean;
}

export const NO_LINES: LogState = { lines: [], dropped: 0, ended: false };
export const MOST_LINES = 10_000;

/** Take lines that arrived; one that is there already (after a break) is not there twice. */
export function addLines(state: LogState, arrived: readonly LogEntry[], most = MOST_LINES): LogState {
  const last = state.lines.at(-1)?.position ?? 0;
  const news = arrived.filter((line) => line.position > last);
  if (news.length === 0) return state;
  const all = [...state.lines, ...news];
  const excess = Math.max(0, all.length - most);
  return { ...state, lines: all.slice(excess), dropped: state.dropped + excess };
}
