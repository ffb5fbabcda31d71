import { describe, expect, it } from 'vitest';

import { BEFORE, HEAD, historyEntry } from './application-fixtures';
import { stripsOf } from './version-strip';

const NOW = Date.parse('2026-03-12T15:00:00Z');
const at = (hour: number) => `2026-03-12T${String(hour).padStart(2, '0')}:00:00Z`;
const ended = (hour: number, fields: Parameters<typeof historyEntry>[0] = {}) =>
  historyEntry({ run: `run-${hour}`, at: at(hour), started: at(hour), finished: at(hour), ...fields });

describe('stripsOf', () => {
  it('shows each version until the next one came', () => {
    const older = ended(3, { commit: BEFORE, clusters: ['eu'], commitsAfter: [{ commit: BEFORE, clusters: ['eu'] }] });

    const strips = stripsOf([ended(9), older], NOW);

    expect(strips.map((strip) => [strip.cluster, strip.segments.map((each) => each.commit)])).toEqual([
      ['eu', [BEFORE, HEAD]],
      ['us', [HEAD]],
    ]);
    expect(strips[0]?.segments.map((each) => each.until)).toEqual([Date.parse(at(9)), NOW]);
  });

  it('shows in each cluster what is there after a rollback, also where that differs', () => {
    const back = ended(5, {
      status: 'rolled_back',
      commitsAfter: [
        { commit: BEFORE, clusters: ['eu'] },
        { commit: '', clusters: ['us'] },
      ],
    });

    const [eu, us] = stripsOf([back, ended(3)], NOW);

    expect(eu?.segments).toMatchObject([{ commit: HEAD, isReturn: false }, { commit: BEFORE, isReturn: true }]);
    // Nothing of it runs there from then on.
    expect(us?.segments).toMatchObject([{ commit: HEAD, until: Date.parse(at(5)) }]);
  });

  it('concludes nothing about clusters that a run says nothing of, nor from refused commits', () => {
    const failed = ended(7, { status: 'failed', commitsAfter: [] });
    const refused = ended(8, { kind: 'commit', run: '', finished: null, status: 'failed', commitsAfter: [] });

    expect(stripsOf([refused, failed], NOW)).toEqual([]);
  });

  it('marks what is being released', () => {
    const strips = stripsOf([ended(5, { status: 'running', finished: null, commitsAfter: [] })], NOW);

    expect(strips[0]?.segments).toMatchObject([{ commit: HEAD, isUnderWay: true, until: NOW }]);
  });
});
