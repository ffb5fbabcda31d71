/** JSON as YAML for people. It is read by nobody but them, so it need not be the shortest. */

/** Return the lines of a value; keys keep their order. */
export function yamlLines(value: unknown): string[] {
  if (isFilled(value)) return block(value);
  return scalar(value);
}

type Filled = readonly unknown[] | Readonly<Record<string, unknown>>;

function isFilled(value: unknown): value is Filled {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0;
}

function block(value: Filled): string[] {
  if (Array.isArray(value)) return (value as readonly unknown[]).flatMap(item);
  return Object.entries(value).flatMap(([key, inner]) => entry(key, inner));
}

function entry(key: string, value: unknown): string[] {
  const name = plain(key) ? key : JSON.stringify(key);
  if (isFilled(value)) {
    // A list stands below its key without being moved in, as kubectl writes it.
    const inner = block(value);
    return [`${name}:`, ...(Array.isArray(value) ? inner : inner.map((line) => `  ${line}`))];
  }
  const [first = '', ...rest] = scalar(value);
  return [`${name}: ${first}`, ...rest.map((line) => `  ${line}`)];
}

function item(value: unknown): string[] {
  const [first = '', ...rest] = yamlLines(value);
  return [`- ${first}`, ...rest.map((line) => `  ${line}`)];
}

function scalar(value: unknown): string[] {
  if (typeof value === 'string') return text(value);
  if (Array.isArray(value)) return ['[]'];
  if (typeof value === 'object' && value !== null) return ['{}'];
  return [value === undefined ? 'null' : JSON.stringify(value)];
}

function text(value: string): string[] {
  const isProse = value.includes('\n') && !/^\s|[^\n\x20-\x7e\u00a0-\uffff]| \n/.test(value);
  if (!isProse) return [plain(value) ? value : JSON.stringify(value)];
  const ends = value.endsWith('\n');
  const lines = (ends ? value.slice(0, -1) : value).split('\n');
  return [ends ? '|' : '|-', ...lines.map((line) => (line ? `${line}` : ''))];
}

/** What YAML would read as a number, a truth value, a date or nothing. */
const AMBIGUOUS = /^(true|false|null|yes|no|on|off|~|[-+.]?[\d.][\d_.eE+:TZ-]*|0[xo][\da-f]+)$/i;
const SAFE = /^[\w./](?:[!$()*+\-./;<=?@\w^~\u00a1-\uffff]|[:,](?=\S)| (?=[^\s#:]))*$/;
/** What stands for the values of secrets; a star at the beginning would have to be quoted. */
const MASK = '*****';

function plain(value: string): boolean {
  return value === MASK || (SAFE.test(value) && !AMBIGUOUS.test(value));
}
