import { useEffect, useId, useRef, useSyncExternalStore } from 'react';

import { loginCount } from '../api/client';
import { follow } from '../api/streams';
import type { StreamEvent } from '../api/stream-parser';
import { reportConnection } from './connection';

/**
 * Follow a stream while a screen shows it; null: there is nothing to follow.
 *
 * `url` names the stream: another one begins anew. `after` counts only at the beginning.
 */
export function useStream(
  url: string | null,
  onEvents: (events: StreamEvent[]) => void,
  after = '',
): void {
  const id = useId();
  const login = useSyncExternalStore(loginCount.subscribe, loginCount.get);
  const handler = useRef(onEvents);
  const start = useRef(after);
  useEffect(() => {
    handler.current = onEvents;
    start.current = after;
  });
  useEffect(() => {
    if (url === null) return undefined;
    const stop = follow({
      url,
      after: start.current,
      onEvents: (events) => handler.current(events),
      onConnection: (state) => reportConnection(id, state),
    });
    return () => {
      stop();
      reportConnection(id, 'ended');
    };
  }, [url, id, login]);
}
