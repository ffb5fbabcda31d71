import { useQuery } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';

import { segment } from '../api/client';
import { reading } from '../api/queries';
import type { LiveNode, LiveObject, LiveTree, ObjectEvent } from '../api/types';
import { useChangeSearch } from '../app/search-params';
import { useShortcuts } from '../app/shortcuts';
import { DiffModes, DiffView, readMode } from '../design/diff/diff-view';
import { diffLines } from '../design/diff/lines';
import { yamlLines } from '../design/diff/yaml';
import { Drawer } from '../design/drawer';
import { asServerTime } from '../design/now';
import { Failed, Loading } from '../design/placeholders';
import { StateWord } from '../design/state-shape';
import { Tabs } from '../design/tabs';
import { Time } from '../design/time';
import { Differences } from './drift-view';
import type { ObjectName } from './object-address';
import { PodLogs } from './pod-logs';
import { nameOf } from './tree-model';

const AGAIN_MS = 5_000;

/** One object: as it is, as Git says, what differs, its events and logs. */
export function ObjectDrawer({
  application,
  cluster,
  object,
  tree,
}: {
  application: string;
  cluster: string;
  object: ObjectName;
  tree: LiveTree | undefined;
}) {
  const change = useChangeSearch();
  const search = useSearch({ from: '/applications/$application' });
  const path = `/applications/${segment(application)}/clusters/${segment(cluster)}/object`;
  const read = useQuery({
    ...reading<LiveObject>(path, { ...object }),
    refetchInterval: AGAIN_MS,
  });
  const nodes = tree?.clusters.find((each) => each.name === cluster)?.nodes ?? [];
  const pods = podsOf(nodes, object);
  const view = (next: string) => change({ view: next }, { replace: true });
  useShortcuts([
    ...(pods.length > 0 ? [{ key: 'l', title: 'Log of the pods', run: () => view('logs') }] : []),
    { key: 'e', title: 'Events of the object', run: () => view('events') },
  ]);
  const close = () => change({ object: '', view: '', pod: '', container: '' });
  const chosen = search.view ?? (pods.length > 0 && object.kind === 'Pod' ? 'logs' : 'live');
  return (
    <Drawer
      takesFocus
      onClose={close}
      title={
        <>
          <span className="muted">{object.kind}</span> {nameOf(object)}{' '}
          <span className="muted">in {cluster}</span>
        </>
      }
    >
      {read.isPending && <Loading lines={8} />}
      {read.isError && <Failed error={read.error} onRetry={() => void read.refetch()} />}
      {read.data && (
        <div className="stack">
          <ObjectHead object={read.data} at={read.dataUpdatedAt} />
          <Tabs
            label="About the object"
            chosen={chosen}
            onChoose={view}
            items={[
              { name: 'live', title: 'Live', content: <Manifest body={read.data.live} none="It is not in the cluster" /> },
              { name: 'git', title: 'Git', content: <Manifest body={read.data.wanted} none="Git does not have it" /> },
              {
                name: 'diff',
                title: read.data.differences.length > 0 ? `Diff (${read.data.differences.length})` : 'Diff',
                content: <ObjectDiff object={read.data} />,
              },
              {
                name: 'events',
                title: read.data.events.length > 0 ? `Events (${read.data.events.length})` : 'Events',
                content: <Events events={read.data.events} />,
              },
              ...(pods.length > 0
                ? [
                    {
                      name: 'logs',
                      title: 'Logs',
                      content: (
                        <PodLogs
                          application={application}
                          cluster={cluster}
                          pods={pods}
                          containers={object.kind === 'Pod' ? read.data.containers : []}
                        />
                      ),
                    },
                  ]
                : []),
            ]}
          />
        </div>
      )}
    </Drawer>
  );
}

/** The pods of an object: itself, or those below it. */
export function podsOf(nodes: readonly LiveNode[], object: ObjectName): LiveNode[] {
  const self = nodes.find(
    (node) =>
      node.kind === object.kind &&
      node.group === object.group &&
      node.namespace === object.namespace &&
      node.name === object.name,
  );
  if (!self) return [];
  const below = new Set([self.uid]);
  // Parents stand before their children.
  for (const node of nodes) if (below.has(node.parent)) below.add(node.uid);
  return nodes.filter((node) => node.kind === 'Pod' && below.has(node.uid));
}

function ObjectHead({ object, at }: { object: LiveObject; at: number }) {
  const { node } = object;
  return (
    <div className="stack">
      <div className="row wrap">
        <StateWord status={node.health.status} />
        <span className="breakable">{node.health.reason}</span>
        {node.total > 0 && !node.health.reason && <span>{`${node.ready} of ${node.total} pods ready`}</span>}
      </div>
      <p className="muted small">
        Observed <Time at={asServerTime(at)} />; created <Time at={node.created} />
        {node.node && ` on node ${node.node}`}
      </p>
    </div>
  );
}

function Manifest({ body, none }: { body: Readonly<Record<string, unknown>>; none: string }) {
  if (Object.keys(body).length === 0) return <p className="muted">{none}</p>;
  return (
    // Long lines and long manifests scroll by keyboard.
    // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <pre className="manifest" tabIndex={0}>
      {yamlLines(body).join('\n')}
    </pre>
  );
}

function ObjectDiff({ object }: { object: LiveObject }) {
  const search = useSearch({ from: '/applications/$application' });
  const change = useChangeSearch();
  const mode = readMode(search.mode);
  const hasBoth = Object.keys(object.live).length > 0 && Object.keys(object.wanted).length > 0;
  return (
    <div className="stack">
      <DiffModes mode={mode} onChoose={(next) => change({ mode: next === 'split' ? next : '' }, { replace: true })} />
      {object.differences.length === 0 && <p>Every field that Git states is as it says.</p>}
      <Differences differences={object.differences} mode={mode} />
      {hasBoth && (
        <details>
          <summary>Whole manifests beside each other</summary>
          <p className="muted small">
            What Git does not state stands on the live side only: defaults, status, and fields of controllers.
          </p>
          <DiffView
            lines={diffLines(yamlLines(object.wanted), yamlLines(object.live))}
            mode={mode}
            label="The whole manifest"
            sides={['Git', 'live']}
          />
        </details>
      )}
    </div>
  );
}

function Events({ events }: { events: readonly ObjectEvent[] }) {
  if (events.length === 0)
    return <p className="muted">The cluster keeps no event of it; most forget them after an hour.</p>;
  return (
    <ul className="stack">
      {events.map((event, index) => (
        <li key={`${index} ${event.reason}`} className="tree-event">
          <StateWord status={event.type === 'Warning' ? 'inconclusive' : 'ready'} word={event.reason} /> {event.message}{' '}
          <span className="muted">
            {event.count > 1 && `× ${event.count}, `}
            <Time at={event.lastSeen} />
          </span>
        </li>
      ))}
    </ul>
  );
}
