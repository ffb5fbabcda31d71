/** A screen opened at an address, on an API of fixed answers, in one call. */

import { waitFor } from '@testing-library/react';
import { expect } from 'vitest';

import { Api, show, type Answer, type Asked, type Screen } from './screen';

export { Refusal, type Asked } from './screen';

/** Answers by `METHOD /path`; a function is given what was asked, and what has none is not found. */
export type Answers = Record<string, Answer>;

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

export function openScreen(path: string, answers: Answers): Opened {
  const api = new Api(answers);
  const screen = show(path);
  const send = async (stream: string, events: readonly StreamPiece[]) => {
    await waitFor(() => expect(api.follows(stream)).toBe(true));
    for (const { id, event, data } of events) api.send(stream, id, event, data);
  };
  return { ...screen, asked: api.asked, send };
}
