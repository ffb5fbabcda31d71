import { Button } from '../design/button';
import { Dialog } from '../design/dialog';
import { nameOfKey, useAllShortcuts } from './shortcuts';

/** All keys that work on the screen behind it. */
export default function Help({ onClose }: { onClose: () => void }) {
  const shortcuts = useAllShortcuts();
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl className="keys">
        {shortcuts.map((shortcut) => (
          <div key={shortcut.key} className="row">
            <dt className="keys-key">
              <kbd>{nameOfKey(shortcut.key)}</kbd>
            </dt>
            <dd>{shortcut.title}</dd>
          </div>
        ))}
      </dl>
      <Button onClick={onClose}>Close</Button>
    </Dialog>
  );
}
