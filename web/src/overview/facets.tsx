import * as Popover from '@radix-ui/react-popover';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';

import type { Facet, Overview } from '../api/types';
import { useChangeSearch } from '../app/search-params';
import { stateOf } from '../design/state';

const route = getRouteApi('/');
/** Those that the list of applications can be narrowed by. */
const NAMES = ['project', 'status', 'region', 'cluster'] as const;
type Name = (typeof NAMES)[number];

/** Narrows the list: one value of each kind, with how many there are. */
export function Facets({ facets }: { facets: Overview['facets'] }) {
  return (
    <div className="row wrap">
      {NAMES.map((name) => {
        const values = facets[name] ?? [];
        return values.length > 1 && <Choice key={name} name={name} values={values} />;
      })}
    </div>
  );
}

function Choice({ name, values }: { name: Name; values: readonly Facet[] }) {
  const chosen = route.useSearch()[name] ?? '';
  const change = useChangeSearch();
  const [isOpen, setOpen] = useState(false);
  const word = (value: string) => (name === 'status' ? stateOf(value).word : value);
  const take = (value: string) => {
    change({ [name]: value === chosen ? '' : value });
    setOpen(false);
  };
  return (
    <Popover.Root open={isOpen} onOpenChange={setOpen}>
      <Popover.Trigger className={chosen ? 'button facet facet-on' : 'button facet'}>
        {name}
        {chosen && `: ${word(chosen)}`} <span aria-hidden="true">▾</span>
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Content className="menu facet-menu" align="start" sideOffset={4} aria-label={`Narrow by ${name}`}>
          <ul>
            {values.map((facet) => (
              <li key={facet.value}>
                <button
                  type="button"
                  className="menu-item facet-value"
                  aria-pressed={facet.value === chosen}
                  onClick={() => take(facet.value)}
                >
                  <span className="menu-mark">{facet.value === chosen ? '✓' : ''}</span>
                  <span className="grow truncate">{word(facet.value) || 'none'}</span>
                  <span className="muted">{facet.count}</span>
                </button>
              </li>
            ))}
          </ul>
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}
