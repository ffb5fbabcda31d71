/** The real screens in a page of jsdom, with a server of fixed answers behind `fetch`. */

import { QueryClientProvider } from '@tanstack/react-query';
import { createMemoryHistory, createRouter, RouterProvider } from '@tanstack/react-router';
import { configure, render, type RenderResult } from '@testing-library/react';
import { afterEach, vi } from 'vitest';

import { queryClient } from '../src/api/queries';
import { routeTree } from '../src/app/router';
import { parseSearch, stringifySearch } from '../src/app/search-params';

export interface Asked {
  method: string;
  path: string;
  query: URLSearchParams;
  body: unknown;
}

/** Answers by `METHOD /path` below `/api/v1`; a function is given what was asked. */
export type Answers = Record<string, unknown>;

export interface Screen extends RenderResult {
  asked: Asked[];
  /** The address as it is now. */
  address: () => string;
}

/** A refusal as the server writes it. */
export class Refusal {
  constructor(
    readonly status: number,
    readonly detail: string,
    readonly hint = '',
  ) {}
}

/** Pieces of a stream, sent at once; the stream stays open. */
export class Stream {
  constructor(readonly events: readonly { id?: number; event: string; data: unknown }[]) {}

  text(): string {
    return this.events
      .map(({ id, event, data }) =>
        [...(id === undefined ? [] : [`id: ${id}`]), `event: ${event}`, `data: ${JSON.stringify(data)}`, '', ''].join('\n'),
      )
      .join('');
  }
}

// Only a hang reaches these: no verdict depends on how busy the machine is.
configure({ asyncUtilTimeout: 20_000 });
vi.setConfig({ testTimeout: 60_000 });

afterEach(() => vi.unstubAllGlobals());

/** Open `path` of the screens; what has no answer is not found. */
export function openScreen(path: string, answers: Answers): Screen {
  const asked: Asked[] = [];
  vi.stubGlobal('fetch', (url: string, init: RequestInit = {}) => {
    const { pathname, searchParams } = new URL(url, 'http://volary.test');
    const request: Asked = {
      method: init.method ?? 'GET',
      path: pathname.replace('/api/v1', ''),
      query: searchParams,
      body: typeof init.body === 'string' ? (JSON.parse(init.body) as unknown) : undefined,
    };
    asked.push(request);
    return Promise.resolve(answer(request, answers));
  });
  const history = createMemoryHistory({ initialEntries: [path] });
  const router = createRouter({ routeTree, history, parseSearch, stringifySearch });
  const rendered = render(
    <QueryClientProvider client={queryClient()}>
      <RouterProvider router={router as never} />
    </QueryClientProvider>,
  );
  return { ...rendered, asked, address: () => history.location.href };
}

const SESSION = { authenticated: true, name: 'ana', csrfToken: 'c', methods: ['oidc'], version: '0' };

function answer(asked: Asked, answers: Answers): Response {
  const key = `${asked.method} ${asked.path}`;
  if (key === 'GET /session') return Response.json(SESSION);
  const given = answers[key];
  const found = typeof given === 'function' ? (given as (asked: Asked) => unknown)(asked) : given;
  if (found instanceof Stream) return new Response(open(found));
  if (found === undefined && asked.path.endsWith('/stream')) return new Response(null, { status: 204 });
  if (found instanceof Refusal)
    return Response.json({ detail: found.detail, hint: found.hint }, { status: found.status });
  if (found === undefined) return Response.json({ detail: `there is no ${key}` }, { status: 404 });
  return Response.json(found);
}

function open(stream: Stream): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start: (controller) => controller.enqueue(new TextEncoder().encode(stream.text())),
  });
}
