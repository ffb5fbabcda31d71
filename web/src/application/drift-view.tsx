import type { UseQueryResult } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';

import type { Action, ClusterDrift, Drift, FieldDifference, ObjectDrift } from '../api/types';
import { ActionButtons } from '../app/actions';
import { useChangeSearch } from '../app/search-params';
import { Commit } from '../design/commit';
import { compareField } from '../design/diff/field';
import { DiffModes, readMode, type DiffMode } from '../design/diff/diff-view';
import { FieldDiff } from '../design/diff/field-diff';
import { Empty, Failed, Loading } from '../design/placeholders';
import { StateWord } from '../design/state-shape';
import { Time } from '../design/time';
import { writeObject } from './object-address';
import { nameOf } from './tree-model';

const RANK: Readonly<Record<string, number>> = { outOfSync: 0, unknown: 1, running: 2, inSync: 3 };
const REPAIRS = ['repair', 'sync'];

/** What is not as Git says, who did it, and since when. */
export function DriftView({ drift, actions }: { drift: UseQueryResult<Drift>; actions: readonly Action[] }) {
  const search = useSearch({ from: '/applications/$application' });
  const change = useChangeSearch();
  if (drift.isPending) return <Loading lines={5} label="Comparing with Git" />;
  if (drift.isLoadingError) return <Failed error={drift.error} onRetry={() => void drift.refetch()} />;
  const { data } = drift;
  if (data.mode === 'off')
    return (
      <Empty title="Nobody looks for drift">
        <code>driftDetection: report</code> in the application&apos;s file shows here what differs from Git;{' '}
        <code>repair</code> puts it back.
      </Empty>
    );
  const mode = readMode(search.mode);
  const clusters = [...data.clusters].sort((one, other) => (RANK[one.status] ?? 1) - (RANK[other.status] ?? 1));
  const repairs = actions.filter((action) => REPAIRS.includes(action.verb));
  const repair = repairs.filter((action) => action.verb === 'repair');
  return (
    <div className="stack">
      <div className="row wrap">
        <StateWord status={data.status} />
        <span className="grow breakable">{data.reason}</span>
        <DiffModes
          mode={mode}
          onChoose={(next) => change({ mode: next === 'split' ? next : '' }, { replace: true })}
        />
        <ActionButtons actions={repair.length > 0 ? repair : repairs} />
      </div>
      <p className="muted">
        {clusters.some((cluster) => cluster.compared) ? (
          <>
            Compared with <Commit commit={data.commit} />; what
          </>
        ) : (
          'What'
        )}{' '}
        differs is {data.mode === 'repair' ? 'put back by itself' : 'reported and left as it is'}
        {data.repairAfter && (
          <>
            , next <Time at={data.repairAfter} />
          </>
        )}
      </p>
      {clusters.map((cluster) => (
        <ClusterDifferences key={cluster.name} cluster={cluster} mode={mode} />
      ))}
    </div>
  );
}

function ClusterDifferences({ cluster, mode }: { cluster: ClusterDrift; mode: DiffMode }) {
  return (
    <section className="panel drift-cluster" aria-label={cluster.name}>
      <div className="row wrap">
        <h2>{cluster.name}</h2>
        <StateWord status={cluster.status} />
        <span className="grow breakable muted">{cluster.reason}</span>
        {cluster.compared && (
          <span className="muted small">
            compared <Time at={cluster.compared} />
          </span>
        )}
      </div>
      {cluster.objects.map((object) => (
        <ObjectDifferences key={writeObject(object)} cluster={cluster.name} object={object} mode={mode} />
      ))}
    </section>
  );
}

function ObjectDifferences({ cluster, object, mode }: { cluster: string; object: ObjectDrift; mode: DiffMode }) {
  const change = useChangeSearch();
  return (
    <div className="drift-object stack">
      <div className="row wrap">
        <StateWord status={object.drift} />
        <button
          type="button"
          className="link"
          onClick={() => change({ cluster, object: writeObject(object), view: 'diff' })}
        >
          {`${object.kind} ${nameOf(object)}`}
        </button>
        <span className="grow breakable">{object.reason}</span>
        {object.since && (
          <span className="muted">
            since <Time at={object.since} />
          </span>
        )}
      </div>
      <Differences differences={object.differences} omitted={object.omitted} mode={mode} />
    </div>
  );
}

/** Fields that are not as Git says, each with who owns it. */
export function Differences({
  differences,
  omitted = 0,
  mode,
}: {
  differences: readonly FieldDifference[];
  omitted?: number;
  mode: DiffMode;
}) {
  return (
    <>
      {differences.map((difference) => (
        <div key={difference.path}>
          <FieldDiff
            mode={mode}
            sides={['Git', 'live']}
            field={compareField(
              difference.path,
              difference.sides === 'live' ? null : { value: difference.wanted },
              difference.sides === 'wanted' ? null : { value: difference.live },
            )}
          />
          {difference.owners.map((owner) => (
            <p key={`${owner.manager} ${owner.operation}`} className="muted small">
              {`set by ${owner.manager} (${owner.operation})`}
              {owner.since && (
                <>
                  {' '}
                  <Time at={owner.since} />
                </>
              )}
            </p>
          ))}
        </div>
      ))}
      {omitted > 0 && <p className="muted">{`${omitted} more fields differ`}</p>}
    </>
  );
}
