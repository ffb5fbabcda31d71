/** Parts of the page that are loaded when they are needed first. */

import { Button } from './button';

/**
 * Have a part that does not arrive say so, and offer to load the page anew.
 *
 * A server with a newer version no longer has the files of the page that is open. Whoever is in
 * the middle of something decides when to leave it; the rest of the page goes on.
 *
 * @param name Of the component in the module.
 */
export function orReload<Module extends object>(
  loaded: Promise<Module>,
  name: keyof Module & string,
): Promise<Module> {
  return loaded.catch(() => ({ [name]: NotLoaded }) as unknown as Module);
}

function NotLoaded() {
  return (
    <div className="empty" role="alert">
      <h2>this part of the page did not arrive</h2>
      <div className="muted">The server has a newer version by now, or does not answer.</div>
      <Button onClick={() => location.reload()}>Reload the page</Button>
    </div>
  );
}
