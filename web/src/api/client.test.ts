import { afterEach, expect, test, vi } from 'vitest';

import { get, Problem } from './client';

afterEach(() => vi.unstubAllGlobals());

test('what a proxy answers in place of the server is said in words', async () => {
  vi.stubGlobal('fetch', () => Promise.resolve(new Response('<html>log in</html>', { status: 200 })));

  const failure = await get('/runs').catch((error: unknown) => error);

  expect(failure).toBeInstanceOf(Problem);
  expect((failure as Problem).message).toBe('something between here and the server answered in its place');
});
