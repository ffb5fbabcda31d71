import * as Menu from '@radix-ui/react-dropdown-menu';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, Outlet, useNavigate } from '@tanstack/react-router';
import { lazy, Suspense, useEffect, useState } from 'react';

import { orReload } from '../design/late-part';
import { Toasts } from '../design/toasts';
import { toast } from '../design/toasts';
import { logOut, sessionQuery } from '../session/session';
import { ConnectionBar } from './connection-bar';
import { choose, usePreferences } from './preferences';
import { handleKey, useShortcuts } from './shortcuts';
import './shell.css';

const Palette = lazy(() => orReload(import('./palette'), 'default'));
const Help = lazy(() => orReload(import('./help'), 'default'));

const SCREENS = [
  { to: '/', title: 'Overview', exact: true },
  { to: '/fleet', title: 'Fleet', exact: false },
  { to: '/activity', title: 'Activity', exact: false },
  { to: '/insights', title: 'Insights', exact: false },
] as const;

/** What stands around every screen. */
export function Shell() {
  const navigate = useNavigate();
  const [isPalette, setPalette] = useState(false);
  const [isHelp, setHelp] = useState(false);
  useEffect(() => {
    document.addEventListener('keydown', handleKey);
    return () => document.removeEventListener('keydown', handleKey);
  }, []);
  useShortcuts([
    { key: 'mod+k', title: 'Go to, or act', run: () => setPalette(true) },
    { key: '/', title: 'Search', run: () => focusSearch(() => setPalette(true)) },
    { key: '?', title: 'Show all keys', run: () => setHelp(true) },
    { key: 'h', title: 'Overview', run: () => void navigate({ to: '/' }) },
  ]);
  return (
    <div className="shell">
      <a className="skip-link" href="#content">
        Skip to the content
      </a>
      <ConnectionBar />
      <header className="shell-head no-print">
        <Link to="/" className="shell-mark" aria-label="Volary, overview">
          <img src="/icon.svg" alt="" width="22" height="22" />
          <span className="shell-name">Volary</span>
        </Link>
        <nav aria-label="Screens" className="shell-nav">
          {SCREENS.map((screen) => (
            <Link
              key={screen.to}
              to={screen.to}
              className="shell-link"
              activeOptions={{ exact: screen.exact, includeSearch: false }}
              activeProps={{ 'aria-current': 'page' }}
            >
              {screen.title}
            </Link>
          ))}
        </nav>
        <span className="grow" />
        <button type="button" className="button shell-search" onClick={() => setPalette(true)}>
          <svg viewBox="0 0 16 16" className="shell-search-mark" aria-hidden="true">
            <path d="M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10Zm3.6-1.4L14 14" />
          </svg>
          <span className="shell-search-word">Go to…</span>
          <kbd aria-hidden="true">⌘K</kbd>
        </button>
        <PersonMenu onHelp={() => setHelp(true)} />
      </header>
      <main id="content" className="shell-content" tabIndex={-1}>
        <Outlet />
      </main>
      <Toasts />
      <Suspense>
        {isPalette && <Palette onClose={() => setPalette(false)} />}
        {isHelp && <Help onClose={() => setHelp(false)} />}
      </Suspense>
    </div>
  );
}

/** A screen's own search has `data-search`; one without it is searched by the palette. */
function focusSearch(otherwise: () => void): void {
  const field = document.querySelector<HTMLInputElement>('input[data-search]');
  if (field) {
    field.focus();
    field.select();
  } else otherwise();
}

function PersonMenu({ onHelp }: { onHelp: () => void }) {
  const { data: session } = useQuery(sessionQuery);
  const { theme, density } = usePreferences();
  const client = useQueryClient();
  const leave = async () => {
    try {
      await logOut();
      await client.resetQueries();
      location.assign('/');
    } catch (error) {
      toast('bad', error instanceof Error ? error.message : 'it did not work');
    }
  };
  return (
    // Not modal: that would lock scrolling with a style element, which the policy refuses.
    <Menu.Root modal={false}>
      <Menu.Trigger className="button button-quiet shell-person">
        <svg viewBox="0 0 16 16" className="shell-person-mark" aria-hidden="true">
          <path d="M8 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6Zm-6 6c.6-2.6 3-4 6-4s5.4 1.4 6 4" />
        </svg>
        <span className="truncate shell-person-name">{session?.name || 'local'}</span> ▾
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Content className="menu" align="end" sideOffset={6}>
          <Menu.Label className="menu-label">Theme</Menu.Label>
          <Menu.RadioGroup
            value={theme}
            onValueChange={(value) => choose({ theme: value as typeof theme })}
          >
            {(['system', 'light', 'dark'] as const).map((value) => (
              <Menu.RadioItem key={value} value={value} className="menu-item">
                <span className="menu-mark">
                  <Menu.ItemIndicator>✓</Menu.ItemIndicator>
                </span>
                {value === 'system' ? 'As the system' : value === 'light' ? 'Light' : 'Dark'}
              </Menu.RadioItem>
            ))}
          </Menu.RadioGroup>
          <Menu.Separator className="menu-separator" />
          <Menu.CheckboxItem
            className="menu-item"
            checked={density === 'compact'}
            onCheckedChange={(isOn) => choose({ density: isOn ? 'compact' : 'comfortable' })}
          >
            <span className="menu-mark">
              <Menu.ItemIndicator>✓</Menu.ItemIndicator>
            </span>
            Compact rows
          </Menu.CheckboxItem>
          <Menu.Separator className="menu-separator" />
          <Menu.Item className="menu-item" onSelect={onHelp}>
            <span className="menu-mark" />
            Keys
          </Menu.Item>
          {session && !session.methods.includes('local') && (
            <Menu.Item className="menu-item" onSelect={() => void leave()}>
              <span className="menu-mark" />
              Log out
            </Menu.Item>
          )}
          {session && <Menu.Label className="menu-label">Volary {session.version}</Menu.Label>}
        </Menu.Content>
      </Menu.Portal>
    </Menu.Root>
  );
}
