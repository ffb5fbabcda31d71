import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';

import { segment, type Page } from '../api/client';
import { reading } from '../api/queries';
import type { Action, Actions, Cluster, ClusterApplication } from '../api/types';
import { ActionButtons, ActionDialog } from '../app/actions';
import { useChangeSearch } from '../app/search-params';
import { Button } from '../design/button';
import { Commit } from '../design/commit';
import { Drawer } from '../design/drawer';
import { asServerTime } from '../design/now';
import { Note } from '../design/note';
import { Failed, Loading } from '../design/placeholders';
import { StateWord } from '../design/state-shape';
import { Time } from '../design/time';
import { ClusterAgent, ClusterTasks } from './cluster-agent';
import { loadsOf, markOf, wordOf } from './fleet-model';

const AGAIN_MS = 10_000;

/** One cluster: how it is and why, what runs there, and what may be done. */
export function ClusterDrawer({ cluster, at }: { cluster: Cluster; at: number }) {
  const change = useChangeSearch();
  const path = `/clusters/${segment(cluster.name)}`;
  const actions = useQuery({ ...reading<Actions>(`${path}/actions`), refetchInterval: AGAIN_MS });
  const items = actions.data?.items ?? [];
  return (
    <Drawer takesFocus title={cluster.name} onClose={() => change({ cluster: '' })}>
      <div className="stack">
        <div className="row wrap">
          <StateWord status={markOf(cluster)} word={wordOf(cluster)} />
          <span className="grow breakable">{cluster.reason}</span>
          {cluster.since && (
            <span className="muted">
              since <Time at={cluster.since} />
            </span>
          )}
        </div>
        {cluster.changing && <Note>{cluster.changing}</Note>}
        <div className="row wrap">
          <ActionButtons actions={items.filter((action) => action.verb !== 'untaint')} />
        </div>
        {actions.isError && <Note>{actions.error.message}</Note>}
        <Taints cluster={cluster} actions={items} />
        <TaintForm key={cluster.taints.length} cluster={cluster.name} actions={items} />
        {cluster.agent && <ClusterAgent cluster={cluster} />}
        <ClusterTasks cluster={cluster} />
        <Facts cluster={cluster} at={at} />
        <Applications path={path} />
      </div>
    </Drawer>
  );
}

function Taints({ cluster, actions }: { cluster: Cluster; actions: readonly Action[] }) {
  if (cluster.taints.length === 0) return null;
  return (
    <section className="stack">
      <h3>Keeps work away</h3>
      {cluster.taints.map((taint) => (
        <div key={`${taint.key} ${taint.effect}`} className="row wrap">
          <code>{`${taint.key}${taint.value ? `=${taint.value}` : ''}:${taint.effect}`}</code>
          <span className="grow breakable">
            {[taint.by, taint.reason].filter(Boolean).join(': ')}{' '}
            {taint.since && (
              <span className="muted">
                <Time at={taint.since} />
              </span>
            )}
          </span>
          <ActionButtons
            actions={actions.filter(
              ({ verb, body }) => verb === 'untaint' && body['key'] === taint.key && body['effect'] === taint.effect,
            )}
          />
        </div>
      ))}
    </section>
  );
}

/** What a taint does, by its effect. */
const EFFECTS = {
  NoSchedule: 'nothing new begins there unless it tolerates the taint; what runs there stays',
  NoExecute:
    'nothing new begins there, and what runs there without tolerating it moves to other clusters where its spread allows it',
} as const;

/** A taint of somebody's own key; asks with its consequence before it is made. */
function TaintForm({ cluster, actions }: { cluster: string; actions: readonly Action[] }) {
  const [key, setKey] = useState('');
  const [value, setValue] = useState('');
  const [effect, setEffect] = useState<keyof typeof EFFECTS>('NoSchedule');
  const [asked, setAsked] = useState<Action | null>(null);
  const permitted = actions.some((action) => action.enabled);
  const taint = `${key.trim()}${value.trim() ? `=${value.trim()}` : ''}:${effect}`;
  const ask = () => {
    const action = {
      verb: 'taint',
      title: 'Taint',
      noun: 'cluster',
      stage: '',
      clusters: [cluster],
      enabled: true,
      disabledReason: '',
      consequence: `${taint} on ${cluster}: ${EFFECTS[effect]}`,
      needsReason: false,
      reasonField: 'reason',
      isDestructive: effect === 'NoExecute',
      command: `volary cluster taint ${cluster} ${taint}`,
      path: `/api/v1/clusters/${segment(cluster)}/taint`,
      body: { key: key.trim(), value: value.trim(), effect },
    };
    setAsked(action);
  };
  const refusal = permitted ? undefined : (actions[0]?.disabledReason ?? 'you may not taint it');
  return (
    <details>
      <summary>Add a taint</summary>
      <form
        className="row wrap taint-form"
        onSubmit={(event) => {
          event.preventDefault();
          if (permitted && key.trim()) ask();
        }}
      >
        <label>
          Key
          <input value={key} placeholder="example.com/gpu" maxLength={317} onChange={(event) => setKey(event.target.value)} />
        </label>
        <label>
          Value
          <input value={value} maxLength={63} onChange={(event) => setValue(event.target.value)} />
        </label>
        <label>
          Effect
          <select value={effect} onChange={(event) => setEffect(event.target.value as keyof typeof EFFECTS)}>
            {Object.keys(EFFECTS).map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </label>
        <Button type="submit" disabledReason={refusal ?? (key.trim() ? undefined : 'a key is needed')}>
          Taint…
        </Button>
      </form>
      {asked && <ActionDialog action={asked} onClose={() => setAsked(null)} />}
    </details>
  );
}

function Facts({ cluster, at }: { cluster: Cluster; at: number }) {
  const { facts } = cluster;
  const rows: (readonly [string, string])[] = [
    ['Kubernetes', facts?.version ?? ''],
    ['Nodes', facts?.nodes == null ? '' : `${facts.readyNodes ?? 0} of ${facts.nodes} ready`],
    ...loadsOf(cluster).map((load) => [load.name, `${load.text} in use`] as const),
    ['Provider', cluster.provider],
    ['Region', cluster.region],
    ['Zones', cluster.zones.join(', ')],
    ['Namespaces', cluster.namespaces.join(', ')],
    ['Labels', Object.entries(cluster.labels).map(([key, value]) => `${key}=${value}`).join(', ')],
  ];
  return (
    <section className="stack">
      <dl className="facts">
        {rows
          .filter(([, value]) => value)
          .map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
      </dl>
      {facts?.problem && <Note>{facts.problem}</Note>}
      {cluster.factsMissing && <p className="muted">{cluster.factsMissing}</p>}
      <p className="muted small">
        State observed <Time at={asServerTime(at)} />
        {facts && (
          <>
            ; capacity read <Time at={facts.readAt} />
          </>
        )}
      </p>
    </section>
  );
}

function Applications({ path }: { path: string }) {
  const applications = useQuery({
    ...reading<Page<ClusterApplication>>(`${path}/applications`, { limit: 200 }),
    refetchInterval: AGAIN_MS,
  });
  if (applications.isPending) return <Loading lines={3} />;
  if (applications.isLoadingError) return <Failed error={applications.error} onRetry={() => void applications.refetch()} />;
  const { items, cursor } = applications.data;
  return (
    <section className="stack">
      <h3>{items.length === 0 ? 'No application is there' : `Applications (${items.length}${cursor ? '+' : ''})`}</h3>
      <ul>
        {items.map((application) => (
          <li key={application.name} className="row wrap">
            <StateWord status={application.status} />
            <Link
              to="/applications/$application"
              params={{ application: application.name }}
            >
              {application.name}
            </Link>
            <Commit commit={application.commit} />
            <span className="grow muted breakable">{application.leaving || application.missing}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
