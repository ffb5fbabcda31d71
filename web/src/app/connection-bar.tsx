import { duration } from '../design/clock';
import { useNow } from '../design/now';
import { useLostSince } from './connection';

/** A thin bar on top while something is not followed: everything below is what was known then. */
export function ConnectionBar() {
  const since = useLostSince();
  return (
    <div role="status" className="connection-slot">
      {since !== null && <Lost since={since} />}
    </div>
  );
}

function Lost({ since }: { since: number }) {
  useNow();
  return (
    <div className="connection-bar">
      <span className="connection-words">
        Connection lost <span aria-hidden="true">{duration((Date.now() - since) / 1000)} ago</span>: this
        shows what was known then. It is tried again by itself.
      </span>
    </div>
  );
}
