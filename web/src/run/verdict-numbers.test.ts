import { expect, it } from 'vitest';

import { factsOf } from './verdict-numbers';

it('writes what a verdict rests on, and nothing that is not there', () => {
  const numbers = {
    samples: 12_400,
    reference_samples: 400,
    value: 0.02612345,
    reference: 0.004,
    effect: 6.5,
    effect_low: 2.1,
    effect_high: 'Infinity',
    looks: 5,
    failed_looks: 2,
    empty_looks: 0,
  };

  expect(factsOf(numbers)).toEqual([
    ['value', '0.0261 (12,400 samples)'],
    ['against', '0.004 (400 samples)'],
    ['effect', '6.5 (95 %: 2.1 to ∞)'],
    ['looks', '5, 2 failed'],
  ]);
  expect(factsOf({})).toEqual([]);
  expect(factsOf({ value: 'NaN', looks: 0, empty_looks: 3 })).toEqual([['looks', '0, 3 without data']]);
});
