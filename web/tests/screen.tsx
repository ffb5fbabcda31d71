/** A screen as the browser shows it, on an API of recorded shapes. */

import { QueryClientProvider } from '@tanstack/react-query';
import { createMemoryHistory, RouterProvider } from '@tanstack/react-router';
import { render, waitFor, type RenderResult } from '@testing-library/react';
import { afterEach, expect, vi } from 'vitest';

import { queryClient } from '../src/api/queries';
import { makeRouter } from '../src/app/router';
import { SessionGate } from '../src/session/gate';

/** What a route answers; a function is called with the request. */
export type Answer = unknown;
export interface Asked {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: Headers;
  body: unknown;
}
/** Answers by `METHOD /path`, or by path alone for reading; what has none is not found. */
export type Answers = Record<string, Answer | ((asked: Asked) => Answer)>;

export const SESSION = { authenticated: true, name: 'anna', csrfToken: 'csrf-1', methods: ['token'], version: '1' };

export class Refusal {
  readonly status: number;
  readonly detail: string;
  readonly hint: string;

  constructor(status: number, detail: string, hint = '') {
    this.status = status;
    this.detail = detail;
    this.hint = hint;
  }
}

/** An API: `GET /runs/x` or `/runs/x` to answers; streams stay open and say nothing. */
export class Api {
  readonly asked: Asked[] = [];
  readonly routes: Answers;
  private readonly streams = new Map<string, ReadableStreamDefaultController<Uint8Array>>();

  constructor(routes: Answers) {
    this.routes = { '/session': SESSION, ...routes };
    vi.stubGlobal('fetch', (url: string, init: RequestInit = {}) => this.answer(url, init));
  }

  /** Send an event on an open stream. */
  send(path: string, id: number, event: string, document: unknown): void {
    const stream = this.streams.get(path);
    if (!stream) throw new Error(`nobody follows ${path}`);
    stream.enqueue(new TextEncoder().encode(`id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(document)}\n\n`));
  }

  follows(path: string): boolean {
    return this.streams.has(path);
  }

  private async answer(url: string, init: RequestInit): Promise<Response> {
    const parsed = new URL(url, 'http://server');
    const path = parsed.pathname.replace(/^\/api\/v1/, '');
    const method = init.method ?? 'GET';
    const asked: Asked = {
      method,
      path,
      query: parsed.searchParams,
      headers: new Headers(init.headers),
      body: typeof init.body === 'string' ? JSON.parse(init.body) : null,
    };
    this.asked.push(asked);
    if (path.endsWith('/stream')) return this.open(path, init.signal ?? null);
    const route = this.routes[`${method} ${path}`] ?? (method === 'GET' ? this.routes[path] : undefined);
    const found: unknown = typeof route === 'function' ? await (route as (asked: Asked) => unknown)(asked) : route;
    if (found === undefined) return refused(new Refusal(404, `there is no ${path}`));
    return found instanceof Refusal ? refused(found) : Response.json(found);
  }

  private open(path: string, signal: AbortSignal | null): Response {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.streams.set(path, controller);
        signal?.addEventListener('abort', () => {
          this.streams.delete(path);
          controller.error(new DOMException('stopped', 'AbortError'));
        });
      },
    });
    return new Response(body, { headers: { 'Content-Type': 'text/event-stream' } });
  }
}

function refused({ status, detail, hint }: Refusal): Response {
  return Response.json({ detail, hint }, { status });
}

export interface Screen extends RenderResult {
  /** Path and query that the address shows. */
  address: () => string;
}

const routers: ReturnType<typeof makeRouter>[] = [];

// A screen that is still being loaded would be shown when the page of the test is gone.
afterEach(async () => {
  await waitFor(() => expect(routers.filter((router) => router.state.isLoading)).toHaveLength(0));
  routers.length = 0;
});

/** Show the screen of an address. */
export function show(path: string): Screen {
  const history = createMemoryHistory({ initialEntries: [path] });
  const router = makeRouter(history);
  routers.push(router);
  const client = queryClient();
  client.setDefaultOptions({ queries: { ...client.getDefaultOptions().queries, retry: false } });
  const rendered = render(
    <QueryClientProvider client={client}>
      <SessionGate>
        <RouterProvider router={router} />
      </SessionGate>
    </QueryClientProvider>,
  );
  return { ...rendered, address: () => history.location.href };
}

export interface Opened extends Screen {
  asked: readonly Asked[];
  /** Send events on a stream once the screen follows it. */
  send: (path: string, events: readonly StreamPiece[]) => Promise<void>;
}

interface StreamPiece {
  id: number;
  event: string;
  data: unknown;
}

/** Open a screen at an address, on an API of fixed answers, in one call. */
export function openScreen(path: string, answers: Answers): Opened {
  const api = new Api(answers);
  const screen = show(path);
  const send = async (stream: string, events: readonly StreamPiece[]) => {
    await waitFor(() => expect(api.follows(stream)).toBe(true));
    for (const { id, event, data } of events) api.send(stream, id, event, data);
  };
  return { ...screen, asked: api.asked, send };
}
