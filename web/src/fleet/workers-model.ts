/**
 * Who works here: servers, agents beside clusters, and who takes the tasks of each cluster, trouble
 * first. Plain values in, plain values out.
 */

import type { Agent, Cluster, Server, TaskQueue, Worker } from '../api/types';

/** The agent of a cluster, also where none has joined. */
export interface AgentLine {
  /** As the cluster is called. */
  name: string;
  /** As the server says, or `missing`. */
  status: string;
  word: string;
  version: string;
  /** null: never. */
  seen: string | null;
  /** Empty: it needs nobody. */
  reason: string;
  /** What it permits, in sentences. */
  policy: readonly string[];
}

const AGENT_RANKS = ['refused', 'missing', 'disconnected', 'pending'];
const WORKER_RANKS = ['idle', 'unknown'];

/** The leader first, then by name. */
export function sortServers(servers: readonly Server[]): Server[] {
  return [...servers].sort(
    (one, other) => Number(other.isLeader) - Number(one.isLeader) || one.name.localeCompare(other.name),
  );
}

/** The agent of a cluster; null: it is not reached through one. */
export function agentOf(cluster: Cluster, agents: readonly Agent[]): AgentLine | null {
  if (!cluster.agent) return null;
  const found = agents.find((agent) => agent.name === cluster.name);
  return found ? lineOf(found) : missing(cluster.name);
}

/** Agents that have joined and those that clusters wait for, trouble first. */
export function agentLines(agents: readonly Agent[], clusters: readonly Cluster[]): AgentLine[] {
  const names = new Set(agents.map((agent) => agent.name));
  const awaited = clusters.filter((cluster) => cluster.agent && !names.has(cluster.name));
  return [...agents.map(lineOf), ...awaited.map((cluster) => missing(cluster.name))].sort(
    (one, other) => rankIn(AGENT_RANKS, one) - rankIn(AGENT_RANKS, other) || one.name.localeCompare(other.name),
  );
}

/** Those that take no tasks first. */
export function sortWorkers(workers: readonly Worker[]): Worker[] {
  return [...workers].sort(
    (one, other) => rankIn(WORKER_RANKS, one) - rankIn(WORKER_RANKS, other) || one.name.localeCompare(other.name),
  );
}

function lineOf(agent: Agent): AgentLine {
  const { name, status, version, seen, policy } = agent;
  const reason = agent.reason || (agent.rotating ? 'its new token was not used yet' : '');
  return { name, status, word: status, version, seen, policy, reason: reason || (seen ? '' : 'it never came') };
}

function missing(name: string): AgentLine {
  const reason = `none has joined: volary cluster join ${name}`;
  return { name, status: 'missing', word: 'not joined', version: '', seen: null, reason, policy: [] };
}

function rankIn(ranks: readonly string[], { status }: { status: string }): number {
  const rank = ranks.indexOf(status);
  return rank < 0 ? ranks.length : rank;
}

/** Whether nobody takes tasks that somebody has to take. */
export function isUntaken(queue: TaskQueue): boolean {
  return queue.apart && queue.takers.length === 0;
}

/** Whether its tasks are the leading server's, which takes those of all such clusters from one queue. */
export function isLeft(queue: TaskQueue): boolean {
  return !queue.apart;
}

/** Who takes tasks, or why nobody does. */
export function takenBy(queue: TaskQueue): string {
  return queue.reason || `taken by ${queue.takers.map((taker) => taker.name).join(', ')}`;
}

/** Queues that nobody takes tasks from first, then by cluster. */
export function sortQueues(queues: readonly TaskQueue[]): TaskQueue[] {
  return [...queues].sort(
    (one, other) => Number(isUntaken(other)) - Number(isUntaken(one)) || one.cluster.localeCompare(other.cluster),
  );
}

/** What is known of who works here; undefined: not yet, or not to whoever looks. */
export interface Known {
  servers: readonly Server[] | undefined;
  agents: readonly AgentLine[] | undefined;
  queues: readonly TaskQueue[] | undefined;
}

/** A sentence, and the state that it is about. */
export interface Summary {
  status: string;
  text: string;
}

/** Who works here in one sentence, trouble first; null: nothing is known. */
export function summarize({ servers, agents, queues }: Known): Summary | null {
  const parts = [
    ...(servers ? [ofServers(servers)] : []),
    ...(agents?.length ? [ofAgents(agents)] : []),
    ...(queues?.some(isUntaken) ? [ofQueues(queues.filter(isUntaken))] : []),
  ];
  const sorted = parts.sort((one, other) => Number(one.status === 'ready') - Number(other.status === 'ready'));
  const worst = sorted[0];
  return worst ? { status: worst.status, text: sorted.map((part) => part.text).join('; ') } : null;
}

function ofServers(servers: readonly Server[]): Summary {
  const leader = servers.find((server) => server.isLeader);
  if (!leader) return { status: 'waiting', text: 'no server leads, so nothing is carried out' };
  const others = servers.length - 1;
  const standby = others ? `, and ${others} ${others === 1 ? 'stands' : 'stand'} by` : '';
  return { status: 'ready', text: `${leader.name} leads${standby}` };
}

function ofAgents(agents: readonly AgentLine[]): Summary {
  const troubled = agents.filter((agent) => agent.status !== 'connected');
  const worst = troubled[0];
  const total = agents.length;
  if (!worst) return { status: 'ready', text: `${total} of ${total} agents ${total === 1 ? 'is' : 'are'} connected` };
  const text = `${troubled.length} of ${total} agents ${troubled.length === 1 ? 'needs' : 'need'} a look`;
  return { status: worst.status, text: `${text}; ${worst.name} is ${worst.word}: ${worst.reason}` };
}

function ofQueues(queues: readonly TaskQueue[]): Summary {
  const more = queues.length - 1;
  const others = more ? ` and ${more} ${more === 1 ? 'cluster' : 'clusters'} more` : '';
  return { status: 'unreachable', text: `nobody takes tasks of ${sortQueues(queues)[0]?.cluster ?? ''}${others}` };
}
