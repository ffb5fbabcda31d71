import { render, screen } from '@testing-library/react';
import { lazy, Suspense } from 'react';
import { expect, test } from 'vitest';

import { orReload } from './late-part';

interface Module {
  default: () => string;
}

function shown(loaded: Promise<Module>) {
  const Part = lazy(() => orReload(loaded, 'default'));
  render(
    <>
      <p>what was there</p>
      <Suspense fallback="…">
        <Part />
      </Suspense>
    </>,
  );
}

test('a part that the server no longer has offers to reload, and the rest stays', async () => {
  shown(Promise.reject(new TypeError('Failed to fetch dynamically imported module')));

  expect((await screen.findByRole('alert')).textContent).toContain('a newer version');
  screen.getByRole('button', { name: 'Reload the page' });
  screen.getByText('what was there');
});

test('a part that arrives is shown', async () => {
  shown(Promise.resolve({ default: () => 'the part' }));

  await screen.findByText('the part');
  expect(screen.queryByRole('alert')).toBeNull();
});
