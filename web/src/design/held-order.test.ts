import { expect, test } from 'vitest';

import { holdOrder } from './held-order';

test('what was there keeps its place and what is new comes last', () => {
  const items = ['new', 'c', 'a', 'newer', 'b'];

  expect(holdOrder(['a', 'b', 'gone', 'c'], items, (item) => item)).toEqual(['a', 'b', 'c', 'new', 'newer']);
});
