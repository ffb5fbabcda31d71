import { expect, test } from 'vitest';

import { StreamParser } from './stream-parser';

test('events are read however they are cut', () => {
  const text = ': hello\n\nid: 7\nevent: line\ndata: {"a":1}\n\ndata: one\ndata: two\n\n';
  const parser = new StreamParser();

  const events = [...text].flatMap((character) => parser.push(character));

  expect(events).toEqual([
    { id: '7', event: 'line', data: '{"a":1}' },
    { id: '', event: 'message', data: 'one\ntwo' },
  ]);
});

test('other ends of lines are ends of lines', () => {
  expect(new StreamParser().push('id: 1\r\ndata: x\r\n\r\n')).toEqual([{ id: '1', event: 'message', data: 'x' }]);
});

test('an event without an end is refused before it fills the memory', () => {
  const parser = new StreamParser();

  expect(() => parser.push('data: '.padEnd(4_000_001, 'x'))).toThrow(RangeError);
});
