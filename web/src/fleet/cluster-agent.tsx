import { useQuery } from '@tanstack/react-query';

import type { Cluster } from '../api/types';
import { Note } from '../design/note';
import { Failed, Loading } from '../design/placeholders';
import { StateWord } from '../design/state-shape';
import { Time } from '../design/time';
import { agentsQuery, isRefusal, queuesQuery } from './queries';
import { agentOf, isUntaken } from './workers-model';
import { Policy, QueueState, Takers } from './workers-view';

/** The agent through which a cluster is reached: how it is, and what it permits. */
export function ClusterAgent({ cluster }: { cluster: Cluster }) {
  const agents = useQuery(agentsQuery);
  const line = agents.data && agentOf(cluster, agents.data);
  return (
    <section className="stack">
      <h3>Reached through its agent</h3>
      {agents.isPending && <Loading lines={2} label="Reading its agent" />}
      {isRefusal(agents.error) ? (
        <p className="muted breakable">{`How the agent is you may not see: ${agents.error.message}`}</p>
      ) : (
        agents.isLoadingError && <Failed error={agents.error} onRetry={() => void agents.refetch()} />
      )}
      {line && (
        <>
          <p className="breakable">
            <StateWord status={line.status} word={line.word} /> {line.reason}
          </p>
          <p className="muted">
            {line.version && `version ${line.version}, `}seen <Time at={line.seen} none="never" />
          </p>
          {line.policy.length > 0 && (
            <>
              <p className="muted">Its policy permits:</p>
              <Policy policy={line.policy} />
            </>
          )}
        </>
      )}
    </section>
  );
}

/** Who takes the tasks of a cluster; nothing where servers do by themselves. */
export function ClusterTasks({ cluster }: { cluster: Cluster }) {
  const queues = useQuery(queuesQuery);
  const queue = queues.data?.find((each) => each.cluster === cluster.name);
  const problem = cluster.agent && queues.error && !isRefusal(queues.error) ? queues.error : null;
  if (!queue && !problem) return null;
  return (
    <section className="stack">
      <h3>Who takes its tasks</h3>
      {queue && isUntaken(queue) && <QueueState queue={queue} />}
      {queue && <Takers queue={queue} />}
      {problem && <Note>{problem.message}</Note>}
    </section>
  );
}
