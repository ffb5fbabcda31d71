import { Link } from '@tanstack/react-router';

import type { Attention } from '../api/types';
import { useHeldOrder } from '../design/held-order';
import { StateWord } from '../design/state-shape';
import { Time } from '../design/time';
import { destinationOf, keyOf, statusOf, wordOf, type Destination } from './attention';

/** Everything that waits for a person, the most urgent first. */
export function NeedsYou({ items, omitted }: { items: readonly Attention[]; omitted: number }) {
  const { items: shown, hold } = useHeldOrder(items, keyOf);
  return (
    <section aria-labelledby="needs-you" {...hold}>
      <h2 id="needs-you">
        Needs you <span className="count">{items.length + omitted}</span>
      </h2>
      {items.length === 0 ? (
        <p className="muted overview-quiet">Nothing waits for a person.</p>
      ) : (
        <ul className="panel needs">
          {shown.map((item) => (
            <Item key={keyOf(item)} item={item} />
          ))}
        </ul>
      )}
      {omitted > 0 && (
        <p className="muted small">
          and {omitted} more; <code>volary overview</code> narrows them down
        </p>
      )}
    </section>
  );
}

function Item({ item }: { item: Attention }) {
  const word = wordOf(item);
  const subject = item.application || item.clusters.join(', ');
  return (
    <li className="need">
      <span className="need-state">
        <StateWord status={statusOf(item)} {...(word ? { word } : {})} />
      </span>
      <strong className="need-subject truncate" title={subject}>
        {subject}
      </strong>
      <span className="need-sentence">
        {item.sentence}
        {item.wave && <span className="muted"> · wave {item.wave}</span>}
        {item.applications > 0 && <span className="muted"> · {item.applications} applications wait</span>}
      </span>
      <span className="need-since muted small">
        <Time at={item.since} none="" />
      </span>
      <Go where={destinationOf(item)} subject={subject} />
    </li>
  );
}

function Go({ where, subject }: { where: Destination; subject: string }) {
  const words = (
    <>
      {where.title}
      <span className="spoken"> {subject}</span>
    </>
  );
  switch (where.to) {
    case 'run':
      return (
        <Link className="button" to="/runs/$run" params={{ run: where.run }}>
          {words}
        </Link>
      );
    case 'application':
      return (
        <Link
          className="button"
          to="/applications/$application"
          params={{ application: where.application }}
          search={where.tab ? { tab: where.tab } : {}}
        >
          {words}
        </Link>
      );
    case 'cluster':
      return (
        <Link className="button" to="/fleet" search={where.cluster ? { cluster: where.cluster } : {}}>
          {words}
        </Link>
      );
  }
}
