import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { useId, type ReactNode } from 'react';

import type { Cluster, Server, TaskQueue, Worker } from '../api/types';
import { useHeldOrder } from '../design/held-order';
import '../design/listing.css';
import { Note } from '../design/note';
import { asServerTime } from '../design/now';
import { Empty, Failed, Loading } from '../design/placeholders';
import { Sentence } from '../design/sentence';
import { StateWord } from '../design/state-shape';
import { Time } from '../design/time';
import { agentsQuery, isRefusal, queuesQuery, serversQuery, workersQuery } from './queries';
import {
  agentLines,
  isLeft,
  isUntaken,
  sortQueues,
  sortServers,
  sortWorkers,
  summarize,
  takenBy,
  type AgentLine,
} from './workers-model';

const MOST_ROWS = 200;

interface Openable {
  clusters: readonly Cluster[];
  onOpen: (cluster: string) => void;
}

/** Who works here: servers, agents beside clusters, and who takes tasks. */
export function WorkersView({ clusters, onOpen }: Openable) {
  const servers = useQuery(serversQuery);
  const agents = useQuery(agentsQuery);
  const workers = useQuery(workersQuery);
  const queues = useQuery(queuesQuery);
  if ([servers, agents, workers, queues].every((each) => isRefusal(each.error)))
    return (
      <Empty title="You may not see who works here">
        It is for whoever may see everything. How clusters are is in the tab beside it. ({servers.error?.message})
      </Empty>
    );
  const lines = agents.data && agentLines(agents.data, clusters);
  return (
    <div className="fleet-parts">
      <Part title="Servers" query={servers} count={servers.data?.length}>
        {servers.data?.length ? (
          <Servers servers={sortServers(servers.data)} />
        ) : (
          <Empty title="No server was heard of in the last 20 seconds">They write it down where runs are stored.</Empty>
        )}
      </Part>
      <Part title="Agents" query={agents} count={lines?.length}>
        {lines?.length ? (
          <Agents lines={lines} clusters={clusters} onOpen={onOpen} />
        ) : (
          <Empty title="No cluster is reached through an agent">
            Say <code>agent: true</code> of a cluster in the fleet file; then <code>volary cluster join NAME</code>{' '}
            registers its agent.
          </Empty>
        )}
      </Part>
      <Part title="Who takes tasks" query={queues} count={undefined}>
        {queues.data?.length ? (
          <Queues queues={queues.data} clusters={clusters} onOpen={onOpen} />
        ) : (
          <Empty title="No cluster is registered yet" />
        )}
      </Part>
      {workers.data?.length !== 0 && (
        <Part title="Workers" query={workers} count={workers.data?.length}>
          {workers.data && <Workers workers={sortWorkers(workers.data)} onOpen={onOpen} clusters={clusters} />}
        </Part>
      )}
    </div>
  );
}

/** Who works here in one sentence, as far as whoever looks may know. */
export function WorkersSentence({ clusters }: { clusters: readonly Cluster[] }) {
  const servers = useQuery(serversQuery);
  const agents = useQuery(agentsQuery);
  const queues = useQuery(queuesQuery);
  const lines = agents.data && agentLines(agents.data, clusters);
  const summary = summarize({ servers: servers.data, agents: lines, queues: queues.data });
  return summary && <Sentence status={summary.status}>{summary.text}</Sentence>;
}

/** A heading, of when it is, and what stands below: it loads, is refused, failed, or is there. */
function Part({
  title,
  query,
  count,
  children,
}: {
  title: string;
  query: UseQueryResult<unknown>;
  count: number | undefined;
  children: ReactNode;
}) {
  const id = useId();
  return (
    <section aria-labelledby={id} className="stack">
      <div className="row wrap">
        <h2 id={id} className="grow">
          {title} {count !== undefined && <span className="muted">{count}</span>}
        </h2>
        {query.data !== undefined && (
          <span className="muted small">
            observed <Time at={asServerTime(query.dataUpdatedAt)} />
          </span>
        )}
      </div>
      <Answer title={title} query={query}>
        {children}
      </Answer>
    </section>
  );
}

function Answer({ title, query, children }: { title: string; query: UseQueryResult<unknown>; children: ReactNode }) {
  const { error } = query;
  if (query.isPending) return <Loading lines={2} label={`Reading: ${title}`} />;
  if (isRefusal(error)) return <p className="muted breakable">{`You may not see this: ${error.message}`}</p>;
  if (query.isLoadingError) return <Failed error={error} onRetry={() => void query.refetch()} />;
  return (
    <>
      {error && <Note>{error.message}</Note>}
      {children}
    </>
  );
}

function Servers({ servers }: { servers: readonly Server[] }) {
  const { items, hold } = useHeldOrder(servers, keyOfServer);
  return (
    <Listing titles={['Server', 'State', 'Address', 'Version', 'Started', 'Last seen']} hold={hold}>
      {items.map((server) => (
        <tr key={keyOfServer(server)}>
          <th scope="row">{server.name}</th>
          <td>
            <StateWord status="ready" word={server.isLeader ? 'leads' : 'stands by'} />
          </td>
          <td className="breakable">{server.address}</td>
          <td data-title="Version">{server.version}</td>
          <td data-title="Started">
            <Time at={server.started} />
          </td>
          <td data-title="Last seen">
            <Time at={server.lastSeen} />
          </td>
        </tr>
      ))}
    </Listing>
  );
}

const keyOfServer = (server: Server) => `${server.name} ${server.address}`;

function Agents({ lines, clusters, onOpen }: Openable & { lines: readonly AgentLine[] }) {
  const { items, hold } = useHeldOrder(lines, keyOfLine);
  const titles = ['Agent of', 'State', 'Version', 'Last seen', 'Reason', 'Permits'];
  return (
    <Listing titles={titles} hold={hold} left={items.length - MOST_ROWS}>
      {items.slice(0, MOST_ROWS).map((line) => (
        <tr key={line.name}>
          <th scope="row">
            <ClusterName name={line.name} clusters={clusters} onOpen={onOpen} />
          </th>
          <td>
            <StateWord status={line.status} word={line.word} />
          </td>
          <td data-title="Version">{line.version || '–'}</td>
          <td data-title="Last seen">
            <Time at={line.seen} none="never" />
          </td>
          <td className="breakable">{line.reason}</td>
          <td>{line.policy.length > 0 && <Permits line={line} />}</td>
        </tr>
      ))}
    </Listing>
  );
}

const keyOfLine = (line: AgentLine) => line.name;

function Permits({ line }: { line: AgentLine }) {
  return (
    <details>
      <summary>
        {`${line.policy.length} ${line.policy.length === 1 ? 'rule' : 'rules'}`}
        <span className="spoken">{` of ${line.name}`}</span>
      </summary>
      <Policy policy={line.policy} />
    </details>
  );
}

/** What an agent's policy permits, in its own sentences. */
export function Policy({ policy }: { policy: readonly string[] }) {
  return (
    <ul className="policy">
      {policy.map((sentence) => (
        <li key={sentence} className="breakable">
          {sentence}
        </li>
      ))}
    </ul>
  );
}

function Queues({ queues, clusters, onOpen }: Openable & { queues: readonly TaskQueue[] }) {
  const { items, hold } = useHeldOrder(sortQueues(queues.filter((queue) => !isLeft(queue))), keyOfQueue);
  const left = queues.filter(isLeft);
  return (
    <>
      {items.length > 0 && (
        <Listing titles={['Tasks of', 'State', 'Taken by']} hold={hold} left={items.length - MOST_ROWS}>
          {items.slice(0, MOST_ROWS).map((queue) => (
            <tr key={queue.cluster}>
              <th scope="row">
                <ClusterName name={queue.cluster} clusters={clusters} onOpen={onOpen} />
              </th>
              <td>
                <QueueState queue={queue} />
              </td>
              <td>
                <Takers queue={queue} />
              </td>
            </tr>
          ))}
        </Listing>
      )}
      {left[0] && (
        <p className="breakable">
          <StateWord status="ready" word={`${left.length} ${left.length === 1 ? 'cluster' : 'clusters'}:`} />{' '}
          {takenBy(left[0])}
        </p>
      )}
    </>
  );
}

const keyOfQueue = (queue: TaskQueue) => queue.cluster;

/** How it is with the tasks of a cluster. */
export function QueueState({ queue }: { queue: TaskQueue }) {
  if (isUntaken(queue)) return <StateWord status="unreachable" word="not taken" />;
  return <StateWord status="ready" word={queue.takers.length > 0 ? 'taken' : 'as needed'} />;
}

/** The processes that take the tasks of a cluster, or why nobody does. */
export function Takers({ queue }: { queue: TaskQueue }) {
  if (queue.takers.length === 0) return <span className="breakable">{queue.reason}</span>;
  return (
    <ul>
      {queue.takers.map((taker) => (
        <li key={taker.name} className="breakable">
          {taker.name}{' '}
          <span className="muted">
            <Time at={taker.seen} />
          </span>
        </li>
      ))}
    </ul>
  );
}

function Workers({ workers, clusters, onOpen }: Openable & { workers: readonly Worker[] }) {
  const { items, hold } = useHeldOrder(workers, keyOfWorker);
  const titles = ['Worker', 'State', 'Clusters', 'Keys made', 'Reason'];
  return (
    <Listing titles={titles} hold={hold} left={items.length - MOST_ROWS}>
      {items.slice(0, MOST_ROWS).map((worker) => (
        <tr key={worker.name}>
          <th scope="row">{worker.name}</th>
          <td>
            <StateWord {...stateOf(worker)} />
          </td>
          <td>
            <ul>
              {worker.clusters.map((name) => (
                <li key={name}>
                  <ClusterName name={name} clusters={clusters} onOpen={onOpen} />
                </li>
              ))}
            </ul>
          </td>
          <td data-title="Keys made">
            <Time at={worker.rotated} />
          </td>
          <td className="breakable">
            {worker.reason || (worker.rotating ? 'its new token was not used yet' : '')}
          </td>
        </tr>
      ))}
    </Listing>
  );
}

const keyOfWorker = (worker: Worker) => worker.name;

function stateOf({ status }: Worker): { status: string; word: string } {
  if (status === 'taking') return { status: 'ready', word: 'takes tasks' };
  return status === 'idle' ? { status: 'disconnected', word: 'takes no tasks' } : { status: 'unknown', word: 'not known' };
}

function ClusterName({ name, clusters, onOpen }: Openable & { name: string }) {
  if (!clusters.some((cluster) => cluster.name === name)) return name;
  return (
    <button type="button" className="link" onClick={() => onOpen(name)}>
      {name}
    </button>
  );
}

function Listing({
  titles,
  hold,
  left = 0,
  children,
}: {
  titles: readonly string[];
  hold: object;
  /** Rows that are not shown. */
  left?: number;
  children: ReactNode;
}) {
  return (
    <>
      <table className="listing listing-blocks" {...hold}>
        <thead>
          <tr>
            {titles.map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
      {left > 0 && <p className="muted">{`${left} more, none in more trouble than these`}</p>}
    </>
  );
}
