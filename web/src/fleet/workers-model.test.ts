import { expect, it } from 'vitest';

import { agent, cluster, queue, server, worker } from './fleet-fixtures';
import { agentLines, agentOf, sortQueues, sortServers, sortWorkers, summarize } from './workers-model';

const us = cluster({ name: 'us', agent: true });
const eu = cluster({ name: 'eu', agent: true });
const asia = cluster({ name: 'asia', agent: true });
const near = cluster({ name: 'near' });
const lost = agent({ name: 'us', status: 'disconnected', reason: 'its connection ended' });
const taken = queue({ cluster: 'near', takers: [{ name: 'worker hands 7@host', seen: '2026-03-12T14:00:00Z' }] });

it('puts agents in trouble first, and says which clusters wait for one', () => {
  const refused = agent({ name: 'eu', status: 'refused', reason: 'another cluster' });
  const fine = agent({ name: 'old' });
  const lines = agentLines([fine, lost, refused], [us, eu, asia, near]);

  expect(lines.map((line) => [line.name, line.word, line.reason])).toEqual([
    ['eu', 'refused', 'another cluster'],
    ['asia', 'not joined', 'none has joined: volary cluster join asia'],
    ['us', 'disconnected', 'its connection ended'],
    ['old', 'connected', ''],
  ]);
});

it.each([
  [agent({ name: 'us', rotating: true }), 'connected', 'its new token was not used yet'],
  [agent({ name: 'us', status: 'pending', version: '', seen: null }), 'pending', 'it never came'],
])('says what is to be known of an agent: %j', (known, status, reason) => {
  expect(agentOf(us, [known])).toMatchObject({ status, reason });
});

it('knows no agent of a cluster with credentials', () => {
  expect(agentOf(near, [agent({ name: 'near' })])).toBeNull();
});

it('puts workers that take no tasks first', () => {
  const workers = [worker(), worker({ name: 'hand', status: 'unknown' }), worker({ name: 'spare', status: 'idle' })];

  expect(sortWorkers(workers).map((each) => each.name)).toEqual(['spare', 'hand', 'hands']);
});

it('puts the leader first, and tasks that nobody takes', () => {
  const queues = [taken, queue({ cluster: 'asia', apart: false }), queue({ cluster: 'us' })];

  expect(sortServers([server(), server({ name: 'volary-1', isLeader: true })])[0]?.name).toBe('volary-1');
  expect(sortQueues(queues).map((each) => each.cluster)).toEqual(['us', 'asia', 'near']);
});

it.each([
  [{ servers: [server({ isLeader: true })] }, 'ready', 'volary-0 leads'],
  [
    { servers: [server({ isLeader: true }), server({ name: 'b' }), server({ name: 'c' })], agents: agentLines([agent({ name: 'us' })], [us]), queues: [taken] },
    'ready',
    'volary-0 leads, and 2 stand by; 1 of 1 agents is connected',
  ],
  [
    { servers: [server({ isLeader: true })], agents: agentLines([lost], [us]), queues: [queue({ cluster: 'us' }), queue({ cluster: 'eu' })] },
    'disconnected',
    '1 of 1 agents needs a look; us is disconnected: its connection ended; nobody takes tasks of eu and 1 cluster more; volary-0 leads',
  ],
  [{ servers: [server()] }, 'waiting', 'no server leads, so nothing is carried out'],
])('says who works here in a sentence, trouble first', (known, status, text) => {
  const nothing = { servers: undefined, agents: undefined, queues: undefined };

  expect(summarize({ ...nothing, ...known })).toEqual({ status, text });
});

it('says nothing where nothing is known', () => {
  expect(summarize({ servers: undefined, agents: undefined, queues: undefined })).toBeNull();
});
