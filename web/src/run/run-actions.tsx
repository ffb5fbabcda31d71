import * as Menu from '@radix-ui/react-dropdown-menu';
import { useState } from 'react';

import type { Action } from '../api/types';
import { ActionButtons, ActionDialog } from '../app/actions';
import { actionTitle } from '../app/action-words';
import { sameWish } from '../app/followed-action';
import { useShortcuts } from '../app/shortcuts';
import { toast } from '../design/toasts';

/** So many stand beside each other; the rest is behind "more". */
const SHOWN = 4;
/** What brings a run on stands out. */
const FORWARD = new Set(['approve', 'promote', 'resume', 'retry']);
const KEYS: Record<string, string[]> = {
  a: ['approve'],
  r: ['retry'],
  p: ['pause', 'resume'],
};

/** The action of a key: what can be done, else what says why it cannot. */
export function actionOfKey(actions: readonly Action[], key: string, cluster: string): Action | undefined {
  const wanted = actions.filter((action) => KEYS[key]?.includes(action.verb));
  const near = wanted.filter((action) => action.clusters.length === 0 || action.clusters.includes(cluster));
  return near.find((action) => action.enabled) ?? wanted.find((action) => action.enabled) ?? wanted[0];
}

/** What may be done with the run as a whole, and the keys for it. */
export function RunActions({ actions, cluster }: { actions: readonly Action[]; cluster: string }) {
  const [asked, setAsked] = useState<Action | null>(null);
  const whole = actions.filter((action) => action.clusters.length !== 1);
  const press = (key: string, title: string) => () => {
    const action = actionOfKey(actions, key, cluster);
    if (action?.enabled) setAsked(action);
    else toast('bad', `${title}: ${action?.disabledReason || 'there is nothing to do so now'}`);
  };
  useShortcuts([
    { key: 'a', title: 'Approve', run: press('a', 'Approve') },
    { key: 'r', title: 'Retry', run: press('r', 'Retry') },
    { key: 'p', title: 'Pause or resume', run: press('p', 'Pause or resume') },
  ]);
  const sorted = [...whole].sort((one, other) => Number(other.enabled) - Number(one.enabled));
  const shown = sorted.slice(0, SHOWN);
  const more = sorted.slice(SHOWN);
  const first = shown.find((action) => action.enabled && FORWARD.has(action.verb));
  return (
    <div className="row wrap no-print">
      <ActionButtons actions={shown} all={actions} primary={first?.verb ?? ''} />
      {more.length > 0 && (
        <Menu.Root modal={false}>
          <Menu.Trigger className="button" aria-label="More actions">
            ⋯
          </Menu.Trigger>
          <Menu.Portal>
            <Menu.Content className="menu" align="end" sideOffset={6}>
              {more.map((action, index) => (
                <Menu.Item
                  key={index}
                  className="menu-item more-action"
                  aria-disabled={!action.enabled}
                  onSelect={(event) => {
                    if (action.enabled) setAsked(action);
                    else event.preventDefault();
                  }}
                >
                  <span className={action.enabled ? '' : 'muted'}>{actionTitle(action)}</span>
                  {!action.enabled && <span className="muted small">{action.disabledReason}</span>}
                </Menu.Item>
              ))}
            </Menu.Content>
          </Menu.Portal>
        </Menu.Root>
      )}
      {asked && (
        <ActionDialog action={asked} now={sameWish(actions, asked)} onClose={() => setAsked(null)} />
      )}
    </div>
  );
}
