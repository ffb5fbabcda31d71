import { render, screen } from '@testing-library/react';
import { expect, test } from 'vitest';

import { stateOf } from './state';
import { StateShape, StateWord } from './state-shape';

test('a status that nobody knows is unknown and says its word, never fine', () => {
  expect(stateOf('quite_new')).toMatchObject({ shape: 'unknown', tone: 'quiet', word: 'quite new' });
});

test('names that every object has are no states', () => {
  expect(stateOf('constructor').shape).toBe('unknown');
});

test('what needs a person comes before what goes on, and that before what is done', () => {
  const sorted = ['succeeded', 'running', 'pending', 'waiting', 'failed', 'unreachable'].sort(
    (one, other) => stateOf(one).rank - stateOf(other).rank,
  );

  expect(sorted).toEqual(['failed', 'unreachable', 'waiting', 'running', 'pending', 'succeeded']);
});

test('each shape is drawn differently', () => {
  const statuses = ['succeeded', 'running', 'waiting', 'paused', 'failed', 'rolled_back', 'skipped', 'cancelled', 'unreachable', 'pending', 'differs', 'unknown'];
  const drawings = statuses.map((status) => {
    const { container, unmount } = render(<StateShape status={status} />);
    const drawing = container.querySelector('svg')?.outerHTML.replaceAll(/[«:][^"]*/g, '');
    unmount();
    return drawing;
  });

  expect(new Set(drawings).size).toBe(statuses.length);
});

test('a shape alone is read aloud; beside its word it is not', () => {
  render(
    <>
      <StateShape status="failed" label="failed" />
      <StateWord status="waiting" />
    </>,
  );

  expect(screen.getAllByRole('img').map((shape) => shape.getAttribute('aria-label'))).toEqual(['failed']);
  expect(screen.getByText('waiting')).toBeTruthy();
});
