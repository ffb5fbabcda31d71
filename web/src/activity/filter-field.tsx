import { useSearch } from '@tanstack/react-router';
import { useId } from 'react';

import { useChangeSearch } from '../app/search-params';

type Name = 'by' | 'application' | 'cluster' | 'action';

/** A word of the address to narrow a list by, with what is known to choose from. */
export function FilterField({
  name,
  title,
  known = [],
  isSearch = false,
}: {
  name: Name;
  title: string;
  known?: readonly string[];
  /** The field that `/` goes to. */
  isSearch?: boolean;
}) {
  const search = useSearch({ from: '/activity' });
  const change = useChangeSearch();
  const id = useId();
  return (
    <label className="row">
      <span>{title}</span>
      <input
        type="search"
        list={id}
        value={search[name] ?? ''}
        maxLength={253}
        spellCheck={false}
        {...(isSearch ? { 'data-search': true } : {})}
        onChange={(event) => change({ [name]: event.target.value, entry: '' }, { replace: true })}
      />
      <datalist id={id}>
        {[...new Set(known)].filter(Boolean).map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
    </label>
  );
}
