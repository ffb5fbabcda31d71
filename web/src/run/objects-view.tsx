import { Link } from '@tanstack/react-router';

import type { LiveNode, Task } from '../api/types';
import { useLiveTree } from '../application/use-live-tree';
import { Commit } from '../design/commit';
import { Empty, Failed, Loading } from '../design/placeholders';
import { stateOf } from '../design/state';
import { StateShape } from '../design/state-shape';
import { Time } from '../design/time';

/** What a task did, and the objects of its cluster as they are now; what is unwell first. */
export function ObjectsView({ application, task }: { application: string; task: Task }) {
  const { data, error, refetch } = useLiveTree(application, task.target);
  const cluster = data?.clusters.find((each) => each.name === task.target);
  return (
    <div className="stack">
      {task.details.length > 0 && (
        <section aria-label="What it did" className="stack">
          <h3>What it did</h3>
          <ul className="details">
            {task.details.map((detail, index) => (
              <li key={index} className="mono small">
                {detail}
              </li>
            ))}
          </ul>
        </section>
      )}
      <section aria-label="Objects" className="stack">
        <h3>
          In {task.target} now
          {cluster && (
            <span className="muted">
              {' '}
              · observed <Time at={cluster.observed} none="never" />
              {cluster.staleReason && ` · stale: ${cluster.staleReason}`}
            </span>
          )}
        </h3>
        {cluster ? (
          <ObjectList nodes={cluster.nodes} application={application} cluster={cluster.name} />
        ) : error ? (
          <Failed error={error} onRetry={() => void refetch()} />
        ) : data ? (
          <Empty title={`Nothing is known of ${task.target}`} />
        ) : (
          <Loading />
        )}
      </section>
    </div>
  );
}

function ObjectList({
  nodes,
  application,
  cluster,
}: {
  nodes: readonly LiveNode[];
  application: string;
  cluster: string;
}) {
  const sorted = [...nodes].sort(
    (one, other) => stateOf(one.health.status).rank - stateOf(other.health.status).rank,
  );
  if (sorted.length === 0) return <Empty title="There is nothing of it here" />;
  return (
    <ul className="objects">
      {sorted.slice(0, 300).map((node) => (
        <li key={node.uid} className="object">
          <StateShape status={node.health.status} label={stateOf(node.health.status).word} />
          <div className="grow">
            <div className="row wrap">
              <span className="muted">{node.kind}</span>
              <Link
                to="/applications/$application"
                params={{ application }}
                search={{ cluster, object: [node.group, node.kind, node.namespace, node.name].join('/') }}
                className="mono object-name"
              >
                {node.name}
              </Link>
              {node.total > 0 && (
                <span className="small">
                  {node.ready}/{node.total}
                </span>
              )}
              {node.restarts > 0 && <span className="small">{node.restarts} restarts</span>}
              {node.commit && <Commit commit={node.commit} />}
            </div>
            {node.health.reason && node.health.status !== 'healthy' && (
              <div className="small">{node.health.reason}</div>
            )}
            {node.events.slice(0, 3).map((event, index) => (
              <div key={index} className="small muted">
                {event.reason}: {event.message} {event.count > 1 && `(${event.count} times)`}{' '}
                <Time at={event.lastSeen} none="" />
              </div>
            ))}
          </div>
        </li>
      ))}
    </ul>
  );
}
