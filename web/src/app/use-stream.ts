import { useEffect, useId, useRef, useSyncExternalStore } from 'react';

import { loginCount } from '../api/client';
import { follow } from '../api/streams';
import type { StreamEvent } from '../api/stream-parser';
import { reportConnection } from './connection';

/**
 * Follow a stream while a screen shows it; null: there is nothing to follow.
 *
 * `url` names the stream: another one begins anew. `after` counts only at the beginning. `onAgain`
 * is called when it is there again after it was lost: a stream that has no place of its own to go
 * on from says nothing of what happened meanwhile.
 */
export function useStream(
  url: string | null,
  onEvents: (events: StreamEvent[]) => void,
  after = '',
  onAgain?: () => void,
): void {
  const id = useId();
  const login = useSyncExternalStore(loginCount.subscribe, loginCount.get);
  const handler = useRef(onEvents);
  const again = useRef(onAgain);
  const start = useRef(after);
  useEffect(() => {
    handler.current = onEvents;
    again.current = onAgain;
    start.current = after;
  });
  useEffect(() => {
    if (url === null) return undefined;
    let wasLost = false;
    const stop = follow({
      url,
      after: start.current,
      onEvents: (events) => handler.current(events),
      onConnection: (state) => {
        reportConnection(id, state);
        if (state === 'open' && wasLost) again.current?.();
        wasLost = state === 'lost' || (wasLost && state !== 'open');
      },
    });
    return () => {
      stop();
      reportConnection(id, 'ended');
    };
  }, [url, id, login]);
}
