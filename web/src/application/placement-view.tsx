import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';

import { post, segment } from '../api/client';
import { reading } from '../api/queries';
import type {
  Action,
  Application,
  Placement,
  Rebalance,
  Run,
  WorkloadReplicas,
} from '../api/types';
import { ActionButtons } from '../app/actions';
import { Button } from '../design/button';
import '../design/listing.css';
import { Empty, Failed, Loading } from '../design/placeholders';
import { StateWord } from '../design/state-shape';
import { Time } from '../design/time';

const AGAIN_MS = 15_000;

/** Where it is, what moves and why, and how its replicas are divided. */
export function PlacementView({
  application,
  actions,
}: {
  application: Application;
  actions: readonly Action[];
}) {
  const path = `/applications/${segment(application.name)}`;
  const placement = useQuery({ ...reading<Placement>(`${path}/placement`), refetchInterval: AGAIN_MS });
  const run = useQuery({
    ...reading<Run>(`/runs/${segment(application.run)}`),
    enabled: application.run !== '',
  });
  if (placement.isPending) return <Loading lines={4} />;
  if (placement.isLoadingError)
    return <Failed error={placement.error} onRetry={() => void placement.refetch()} />;
  const { data } = placement;
  const isStill = !data.leaving.length && !data.waiting.length && !data.away.length && !data.clusters.length;
  return (
    <div className="stack">
      <div className="row wrap">
        <RebalancePreview application={application.name} />
        <ActionButtons actions={actions.filter((action) => action.verb === 'rebalance')} />
      </div>
      {isStill && (
        <Empty title="It is where its file says">
          With <code>placement</code> in its file, clusters are chosen by labels and room, and it moves when one is lost.
        </Empty>
      )}
      {data.clusters.length > 0 && (
        <section>
          <h2>{`Placed on ${data.clusters.length} clusters`}</h2>
          <p className="breakable">{data.clusters.join(', ')}</p>
        </section>
      )}
      {data.leaving.length > 0 && (
        <section className="stack">
          <h2>Moving away</h2>
          {data.leaving.map((eviction) => (
            <p key={eviction.cluster} className="breakable">
              <StateWord
                status={eviction.replaced ? 'succeeded' : 'running'}
                word={eviction.replaced ? `${eviction.cluster}, replaced` : eviction.cluster}
              />{' '}
              {eviction.reason}
              {eviction.replacements.length > 0 && `; moves to ${eviction.replacements.join(', ')}`}{' '}
              <span className="muted">
                since <Time at={eviction.since} />
              </span>
            </p>
          ))}
          {data.move && (
            <Link to="/runs/$run" params={{ run: data.move }}>
              Watch the move
            </Link>
          )}
        </section>
      )}
      <Reasons title="Would move, but" reasons={data.waiting} status="waiting" />
      <Reasons title="Does not go back by itself to" reasons={data.away} status="skipped" />
      {(run.data?.replicas ?? []).map((workload) => (
        <Replicas key={workload.workload} workload={workload} />
      ))}
    </div>
  );
}

function Reasons({
  title,
  reasons,
  status,
}: {
  title: string;
  reasons: Placement['away'];
  status: string;
}) {
  if (reasons.length === 0) return null;
  return (
    <section className="stack">
      <h2>{title}</h2>
      {reasons.map(({ cluster, reason }) => (
        <p key={cluster} className="breakable">
          <StateWord status={status} word={cluster} /> {reason}
        </p>
      ))}
    </section>
  );
}

function Replicas({ workload }: { workload: WorkloadReplicas }) {
  const most = Math.max(1, ...workload.clusters.map((cluster) => cluster.replicas));
  const total = workload.clusters.reduce((sum, cluster) => sum + cluster.replicas, 0);
  return (
    <section className="stack">
      <h2>{`${workload.workload}: ${total} replicas`}</h2>
      <p className="muted breakable">{workload.reason}</p>
      <table className="listing">
        <thead>
          <tr>
            <th scope="col">Cluster</th>
            <th scope="col">Replicas</th>
            <th scope="col">Room for more</th>
            <th scope="col">Read</th>
          </tr>
        </thead>
        <tbody>
          {workload.clusters.map((cluster) => (
            <tr key={cluster.name}>
              <th scope="row">{cluster.name}</th>
              <td>
                <span className="ready">
                  <svg viewBox="0 0 60 8" width="60" height="8" aria-hidden="true">
                    <rect width={(60 * cluster.replicas) / most} height="8" rx="2" className="ready-some" />
                  </svg>
                  {cluster.replicas}
                </span>
              </td>
              <td>{cluster.free ?? '–'}</td>
              <td>
                <Time at={cluster.readAt} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** Asks what a rebalance would move; nothing does. */
function RebalancePreview({ application }: { application: string }) {
  const [plan, setPlan] = useState<Rebalance | null>(null);
  const [problem, setProblem] = useState('');
  const [isBusy, setBusy] = useState(false);
  const ask = async () => {
    setBusy(true);
    setProblem('');
    try {
      setPlan(await post<Rebalance>(`/applications/${segment(application)}/rebalance/plan`, {}));
    } catch (error) {
      setPlan(null);
      setProblem(error instanceof Error ? error.message : String(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <div className="grow stack">
      <div>
        <Button onClick={() => void ask()} disabledReason={isBusy ? 'it is being worked out' : undefined}>
          What would a rebalance move?
        </Button>
      </div>
      {problem && <p role="status">{problem}</p>}
      {plan && (
        <p role="status" className="breakable">
          {[
            plan.reason,
            ...(plan.more.length ? [`more on ${plan.more.join(', ')}`] : []),
            ...(plan.less.length ? [`less on ${plan.less.join(', ')}`] : []),
            ...(plan.off.length ? [`off ${plan.off.join(', ')}`] : []),
          ].join('; ')}
        </p>
      )}
    </div>
  );
}
