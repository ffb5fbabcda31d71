import { describe, expect, it } from 'vitest';

import { action, application, BEFORE, HEAD, run } from './application-fixtures';
import { mergeHistory, rollbackTo, stripsOf } from './version-strip';

const NOW = Date.parse('2026-03-12T15:00:00Z');
const at = (hour: number) => `2026-03-12T${String(hour).padStart(2, '0')}:00:00Z`;
const ended = (hour: number, fields: Parameters<typeof run>[0] = {}) =>
  run({ id: `run-${hour}`, created: at(hour), started: at(hour), finished: at(hour), ...fields });

describe('stripsOf', () => {
  it('shows each version until the next one came', () => {
    const strips = stripsOf([ended(9), ended(3, { commit: BEFORE, targets: ['eu'] })], NOW);

    expect(strips.map((strip) => [strip.cluster, strip.segments.map((each) => each.commit)])).toEqual([
      ['eu', [BEFORE, HEAD]],
      ['us', [HEAD]],
    ]);
    expect(strips[0]?.segments.map((each) => each.until)).toEqual([Date.parse(at(9)), NOW]);
  });

  it('shows after a rollback what ran before', () => {
    const strips = stripsOf([ended(5, { status: 'rolled_back', runningCommit: BEFORE })], NOW);

    expect(strips[0]?.segments).toMatchObject([{ commit: BEFORE, isReturn: true }]);
  });

  it('concludes nothing from a run that failed or was cancelled', () => {
    const failed = [ended(7, { status: 'failed' }), ended(8, { status: 'cancelled' })];

    expect(stripsOf(failed, NOW)).toEqual([]);
  });

  it('marks what is being released', () => {
    const strips = stripsOf([run({ status: 'running', finished: null })], NOW);

    expect(strips[0]?.segments).toMatchObject([{ commit: HEAD, isUnderWay: true, until: NOW }]);
  });
});

describe('mergeHistory', () => {
  const commit = (seen: string, status: string, runId: string) => ({
    commit: 'bad',
    seen,
    subject: 'Typo',
    author: 'bob',
    status,
    reason: 'no such field',
    run: runId,
  });

  it('sets refused commits among the runs', () => {
    const commits = [commit(at(8), 'failed', 'never'), commit(at(7), 'failed', 'run-9'), commit(at(6), 'superseded', '')];

    const entries = mergeHistory([ended(9), ended(3)], commits, true);

    expect(entries.map((entry) => [entry.commit.slice(0, 3), entry.run?.id ?? null])).toEqual([
      ['a91', 'run-9'],
      ['bad', null],
      ['a91', 'run-3'],
    ]);
  });

  it('says of no commit that it was refused whose run may only not have been read', () => {
    const entries = mergeHistory([ended(9)], [commit(at(1), 'failed', 'run-1')], false);

    expect(entries.map((entry) => entry.run?.id)).toEqual(['run-9']);
  });
});

describe('rollbackTo', () => {
  const back = (fields: Parameters<typeof run>[0], actions = [action()]) => {
    const [entry] = mergeHistory([ended(3, fields)], [], true);
    return entry ? rollbackTo(entry, application(), actions) : null;
  };

  it('goes to that version and says so', () => {
    expect(back({ commit: BEFORE })).toMatchObject({
      body: { to: BEFORE },
      command: `volary rollback shop --to ${BEFORE}`,
      consequence: 'starts a run that brings shop to 7be2104 “Bigger cache”, which ran on eu, us; Git stays as it is',
    });
  });

  it('offers nothing where there is nothing to go to', () => {
    expect(back({ commit: HEAD })).toBeNull();
    expect(back({ commit: BEFORE, status: 'failed' })).toBeNull();
    expect(back({ commit: BEFORE }, [])).toBeNull();
  });
});
