import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useDeferredValue, useId, useState } from 'react';

import type { Page } from '../api/client';
import { reading } from '../api/queries';
import type { ApplicationRow } from '../api/types';
import { Dialog } from '../design/dialog';
import { stateOf } from '../design/state';
import { nameOfKey, useAllShortcuts } from './shortcuts';
import './palette.css';

interface Choice {
  id: string;
  title: string;
  note: string;
  run: () => void;
}

/** Go to a screen, an application or a run, or do what a key does. */
export default function Palette({ onClose }: { onClose: () => void }) {
  const navigate = useNavigate();
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const search = useDeferredValue(text.trim());
  const id = useId();
  const { data } = useQuery({
    ...reading<Page<ApplicationRow>>('/overview/applications', { search, limit: 12 }),
    placeholderData: (before) => before,
  });
  const shortcuts = useAllShortcuts();

  const screens: Choice[] = (
    [
      ['/', 'Overview'],
      ['/fleet', 'Fleet'],
      ['/activity', 'Activity'],
      ['/insights', 'Insights'],
    ] as const
  ).map(([to, title]) => ({ id: to, title, note: 'screen', run: () => void navigate({ to }) }));
  const keys: Choice[] = shortcuts
    .filter((shortcut) => !['mod+k', '/', 'h'].includes(shortcut.key) && shortcut.title !== '')
    .map((shortcut) => ({
      id: `key ${shortcut.key}`,
      title: shortcut.title,
      note: `key ${nameOfKey(shortcut.key)}`,
      run: shortcut.run,
    }));
  const applications: Choice[] = (data?.items ?? []).map((row) => ({
    id: `application ${row.name}`,
    title: row.name,
    note: `application, ${stateOf(row.status).word}`,
    run: () => void navigate({ to: '/applications/$application', params: { application: row.name } }),
  }));
  const asRun: Choice[] = /^[\w.-]{6,}$/.test(search)
    ? [
        {
          id: 'run',
          title: `Run ${search}`,
          note: 'by its id',
          run: () => void navigate({ to: '/runs/$run', params: { run: search } }),
        },
      ]
    : [];
  const matches = (choice: Choice) => choice.title.toLowerCase().includes(search.toLowerCase());
  const choices = [...applications.filter(matches), ...screens.filter(matches), ...keys.filter(matches), ...asRun];
  const chosen = Math.min(at, choices.length - 1);
  const take = (choice: Choice | undefined) => {
    if (!choice) return;
    onClose();
    choice.run();
  };

  return (
    <Dialog title="Go to, or act" onClose={onClose} wide>
      <input
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-controls={id}
        aria-label="Application, screen, action or run"
        aria-activedescendant={chosen >= 0 ? `${id}-${chosen}` : undefined}
        autoComplete="off"
        spellCheck={false}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setAt(0);
        }}
        onKeyDown={(event) => {
          const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
          if (step !== 0) {
            event.preventDefault();
            setAt((chosen + step + choices.length) % Math.max(1, choices.length));
          } else if (event.key === 'Enter') {
            event.preventDefault();
            take(choices[chosen]);
          }
        }}
      />
      <ul id={id} role="listbox" aria-label="Found" className="palette-list">
        {choices.map((choice, index) => (
          // Keys are taken by the field, which has the focus; the pointer may press as well.
          // eslint-disable-next-line jsx-a11y/click-events-have-key-events
          <li
            key={choice.id}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === chosen}
            className="palette-choice"
            onClick={() => take(choice)}
          >
            <span className="grow truncate">{choice.title}</span>
            <span className="muted small">{choice.note}</span>
          </li>
        ))}
      </ul>
      {choices.length === 0 && <p className="muted">Nothing is called so.</p>}
    </Dialog>
  );
}
