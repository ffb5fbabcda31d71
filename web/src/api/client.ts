/** Requests to the server: cookies for who asks, problem details for what went wrong. */

import { setServerTime } from '../design/now';

const BASE = '/api/v1';
const ATTEMPTS = 3;

/** A refusal of the server, in its words, or that there was no answer at all. */
export class Problem extends Error {
  /** HTTP's code; 0: there was no answer. */
  readonly status: number;
  readonly hint: string;

  constructor(status: number, detail: string, hint = '') {
    super(detail);
    this.name = 'Problem';
    this.status = status;
    this.hint = hint;
  }

  /** Whether the same request may go well a moment later. */
  get isTemporary(): boolean {
    return this.status === 0 || this.status === 429 || this.status === 503;
  }
}

/** What a page of a list is: `cursor` is empty at the last one. */
export interface Page<Item> {
  items: Item[];
  cursor: string;
}

export type Query = Record<string, string | number | boolean | undefined>;

type Listener = () => void;

let csrfToken = '';
const unauthenticated = new Set<Listener>();

/** Remember what every write has to carry, as the session says. */
export function setCsrfToken(token: string): void {
  csrfToken = token;
}

/** Call `listener` when the server no longer knows who asks; returns how to stop that. */
export function onUnauthenticated(listener: Listener): () => void {
  unauthenticated.add(listener);
  return () => unauthenticated.delete(listener);
}

/** Tell everybody who listens that nobody is logged in any more. */
export function reportUnauthenticated(): void {
  for (const listener of unauthenticated) listener();
}

let logins = 0;
const authenticated = new Set<Listener>();

/** Tell everybody who listens that somebody has logged in again. */
export function reportAuthenticated(): void {
  logins += 1;
  for (const listener of authenticated) listener();
}

/** How often that happened since the page was opened; what ended for want of a login begins anew. */
export const loginCount = {
  subscribe: (listener: Listener) => {
    authenticated.add(listener);
    return () => authenticated.delete(listener);
  },
  get: () => logins,
};

/** Build the address of a route; parts of `path` that come from data are encoded by `segment`. */
export function address(path: string, query: Query = {}): string {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== '') words.set(name, String(value));
  }
  const asked = words.toString();
  return `${BASE}${path}${asked ? `?${asked}` : ''}`;
}

/** Encode a name so that it is one segment of a path, whatever it holds. */
export function segment(name: string): string {
  return encodeURIComponent(name);
}

/**
 * Read one thing.
 *
 * @throws Problem as the server says, or with status 0 where it cannot be reached.
 */
export async function get<Answer>(
  path: string,
  query: Query = {},
  signal?: AbortSignal,
): Promise<Answer> {
  return read<Answer>(await send(address(path, query), signal ? { signal } : {}));
}

/** Read all pages of a list, at most `most` items. */
export async function getAll<Item>(
  path: string,
  query: Query = {},
  signal?: AbortSignal,
  most = 5000,
): Promise<Item[]> {
  const items: Item[] = [];
  let cursor = '';
  do {
    const page = await get<Page<Item>>(path, { limit: 500, ...query, cursor }, signal);
    items.push(...page.items);
    cursor = page.cursor;
  } while (cursor !== '' && items.length < most);
  return items;
}

/**
 * Ask for something to be done, once.
 *
 * A connection that breaks, and "try again", are asked again under the same key: the server carries
 * it out once and gives the same answer.
 *
 * @param path As the server names it (with `/api/v1`), or below it.
 * @param key Names the wish; the same wish has the same key.
 */
export async function post<Answer>(
  path: string,
  body: unknown,
  key: string = crypto.randomUUID(),
): Promise<Answer> {
  const url = path.startsWith('/api/') || path.startsWith('/auth/') ? path : `${BASE}${path}`;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return read<Answer>(
        await send(url, {
          method: 'POST',
          headers: {
            'Content-Type': 'application/json',
            'Idempotency-Key': key,
            'X-CSRF-Token': csrfToken,
          },
          body: JSON.stringify(body ?? {}),
        }),
      );
    } catch (error) {
      const again = error instanceof Problem && error.isTemporary && attempt < ATTEMPTS;
      if (!again) throw error;
      await new Promise((resolve) => setTimeout(resolve, 500 * 2 ** (attempt - 1)));
    }
  }
}

async function send(url: string, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, { credentials: 'same-origin', ...init });
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new Problem(0, 'the server does not answer', 'it is tried again by itself');
  }
  setServerTime(Date.parse(response.headers.get('date') ?? ''));
  if (!response.ok) throw await problemOf(response);
  return response;
}

/** Read what a refusal says. */
export async function problemOf(response: Response): Promise<Problem> {
  if (response.status === 401) reportUnauthenticated();
  const said: unknown = await response.json().catch(() => null);
  const field = (name: string): string =>
    typeof said === 'object' && said !== null && name in said
      ? String((said as Record<string, unknown>)[name])
      : '';
  const detail = field('detail') || field('title') || `the server answered ${response.status}`;
  return new Problem(response.status, detail, field('hint'));
}

async function read<Answer>(response: Response): Promise<Answer> {
  if (response.status === 204) return undefined as Answer;
  try {
    return (await response.json()) as Answer;
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new Problem(0, 'something between here and the server answered in its place', 'it may ask to log in: load the page again');
  }
}
