/** What a verdict rests on, as words and numbers. Plain values in, plain values out. */

export type Fact = readonly [name: string, text: string];

/** The numbers of a verdict that are there, what was measured first. */
export function factsOf(numbers: Readonly<Record<string, unknown>>): Fact[] {
  const read = (name: string) => numberOf(numbers[name]);
  const facts: Fact[] = [];
  const add = (name: string, text: string | null) => {
    if (text !== null) facts.push([name, text]);
  };
  add('value', withSamples(read('value'), read('samples')));
  add('against', withSamples(read('reference'), read('reference_samples')));
  add('effect', withInterval(read('effect'), read('effect_low'), read('effect_high')));
  add('p', written(read('p_value')));
  add('looks', looksOf(read('looks'), read('failed_looks'), read('empty_looks')));
  return facts;
}

/** Infinities are texts in JSON. */
function numberOf(value: unknown): number | null {
  const number = typeof value === 'string' ? Number(value) : value;
  return typeof number === 'number' && !Number.isNaN(number) ? number : null;
}

function written(value: number | null): string | null {
  if (value === null) return null;
  if (!Number.isFinite(value)) return value > 0 ? '∞' : '−∞';
  return String(Number(value.toPrecision(3)));
}

function withSamples(value: number | null, samples: number | null): string | null {
  const text = written(value);
  return text !== null && samples ? `${text} (${samples.toLocaleString('en')} samples)` : text;
}

function withInterval(value: number | null, low: number | null, high: number | null): string | null {
  const text = written(value);
  const [from, to] = [written(low), written(high)];
  return text !== null && from !== null && to !== null ? `${text} (95 %: ${from} to ${to})` : text;
}

function looksOf(looks: number | null, failed: number | null, empty: number | null): string | null {
  if (!looks && !empty) return null;
  return [`${looks ?? 0}`, ...(failed ? [`${failed} failed`] : []), ...(empty ? [`${empty} without data`] : [])].join(', ');
}
