import { useQuery } from '@tanstack/react-query';
import { Link, useParams, useSearch } from '@tanstack/react-router';

import { segment } from '../api/client';
import { reading } from '../api/queries';
import type { Actions, Application, Drift, LiveTree } from '../api/types';
import { ActionButtons } from '../app/actions';
import { useChangeSearch } from '../app/search-params';
import { useShortcuts } from '../app/shortcuts';
import { Note } from '../design/note';
import { Failed, Loading } from '../design/placeholders';
import { Sentence } from '../design/sentence';
import { Tabs } from '../design/tabs';
import { Time } from '../design/time';
import { describeApplication } from './application-model';
import { DriftView } from './drift-view';
import { HistoryView } from './history-view';
import { LiveView } from './live-view';
import { readObject } from './object-address';
import { ObjectDrawer } from './object-drawer';
import { PlacementView } from './placement-view';
import { Standing } from './standing';
import { useLiveTree } from './use-live-tree';
import { WindowsView } from './windows-view';
import '../design/layout.css';
import './application.css';

const AGAIN_MS = 10_000;
/** What is asked at the head; the rest stands where it belongs. */
const HEAD = ['sync', 'pause', 'resume', 'rollback'];

/** One application: what Git says, what runs, and what differs. */
export function ApplicationPage() {
  const { application: name } = useParams({ from: '/applications/$application' });
  const path = `/applications/${segment(name)}`;
  const application = useQuery({ ...reading<Application>(path), refetchInterval: AGAIN_MS });
  const actions = useQuery({ ...reading<Actions>(`${path}/actions`), refetchInterval: AGAIN_MS });
  const drift = useQuery({ ...reading<Drift>(`${path}/drift`), refetchInterval: AGAIN_MS });
  const tree = useLiveTree(name);
  const search = useSearch({ from: '/applications/$application' });
  const change = useChangeSearch();
  const object = readObject(search.object);
  const tab = (next: string) => change({ tab: next === 'live' ? '' : next });
  useShortcuts([
    { key: 'd', title: 'What differs from Git', run: () => tab('drift') },
    { key: 't', title: 'What runs', run: () => tab('live') },
    { key: 'v', title: 'Versions', run: () => tab('history') },
  ]);

  if (application.isPending) return <Page name={name}><Loading lines={8} /></Page>;
  if (application.isLoadingError)
    return (
      <Page name={name}>
        <Failed error={application.error} onRetry={() => void application.refetch()} />
      </Page>
    );
  const known = application.data;
  const items = actions.data?.items ?? [];
  const view = {
    known,
    tree: tree.data,
    drift: drift.data,
  };
  return (
    <div className="with-drawer">
      <div className="page">
        <header className="row wrap">
          <h1>{name}</h1>
          <Labels application={known} />
          <span className="grow" />
          <Link to="/applications/$application/plan" params={{ application: name }} className="button">
            Plan…
          </Link>
          <ActionButtons actions={items.filter((each) => HEAD.includes(each.verb))} primary="sync" />
        </header>
        <Head {...view} />
        <Tabs
          label="About the application"
          chosen={search.tab ?? 'live'}
          onChoose={tab}
          items={[
            { name: 'live', title: 'Live', content: <LiveView tree={tree} /> },
            {
              name: 'drift',
              title: <DriftTitle drift={drift.data} />,
              content: <DriftView drift={drift} actions={items} />,
            },
            { name: 'history', title: 'History', content: <HistoryView application={known} /> },
            { name: 'placement', title: 'Placement', content: <PlacementView application={known} actions={items} /> },
            { name: 'windows', title: 'Windows', content: <WindowsView application={name} /> },
          ]}
        />
      </div>
      {object && search.cluster && (
        <ObjectDrawer
          key={`${search.cluster} ${search.object}`}
          application={name}
          cluster={search.cluster}
          object={object}
          tree={tree.data}
        />
      )}
    </div>
  );
}

function Page({ name, children }: { name: string; children: React.ReactNode }) {
  return (
    <div className="page">
      <h1>{name}</h1>
      {children}
    </div>
  );
}

function Labels({ application }: { application: Application }) {
  return (
    <>
      {application.project && <span className="muted">project {application.project}</span>}
      {Object.entries(application.labels).map(([key, value]) => (
        <span key={key} className="badge">{`${key}=${value}`}</span>
      ))}
    </>
  );
}

interface Known {
  known: Application;
  tree: LiveTree | undefined;
  drift: Drift | undefined;
}

function Head({ known, tree, drift }: Known) {
  const { status, sentence } = describeApplication(known, tree, drift);
  return (
    <>
      <Sentence status={status}>
        {sentence}
        {known.run && (
          <>
            {' '}
            <Link to="/runs/$run" params={{ run: known.run }}>
              {known.status === 'running' ? 'Watch the run' : 'Last run'}
            </Link>
          </>
        )}
      </Sentence>
      {known.paused && <Note>{`Paused: ${known.paused}`}</Note>}
      {known.unowned && <Note>{known.unowned}</Note>}
      {known.warnings.map((warning) => (
        <Note key={warning}>{warning}</Note>
      ))}
      <Standing application={known} tree={tree} drift={drift} />
      {known.updated && (
        <p className="muted small">
          Status of <Time at={known.updated} />
        </p>
      )}
    </>
  );
}

function DriftTitle({ drift }: { drift: Drift | undefined }) {
  const objects = (drift?.clusters ?? []).reduce((sum, cluster) => sum + cluster.objects.length, 0);
  return <>{objects > 0 ? `Drift (${objects})` : 'Drift'}</>;
}
