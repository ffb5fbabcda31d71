import { Button } from '../design/button';
import { Dialog } from '../design/dialog';
import { useAllShortcuts } from './shortcuts';

const NAMES: Record<string, string> = {
  'mod+k': '⌘K or Ctrl K',
  arrowup: '↑',
  arrowdown: '↓',
  arrowleft: '←',
  arrowright: '→',
  enter: 'Enter',
  escape: 'Esc',
};

/** All keys that work on the screen behind it. */
export default function Help({ onClose }: { onClose: () => void }) {
  const shortcuts = useAllShortcuts();
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl className="keys">
        {shortcuts.map((shortcut) => (
          <div key={shortcut.key} className="row">
            <dt className="keys-key">
              <kbd>{NAMES[shortcut.key] ?? shortcut.key}</kbd>
            </dt>
            <dd>{shortcut.title}</dd>
          </div>
        ))}
      </dl>
      <Button onClick={onClose}>Close</Button>
    </Dialog>
  );
}
