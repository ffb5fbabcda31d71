import { useQuery } from '@tanstack/react-query';
import { Link, useParams, useSearch } from '@tanstack/react-router';
import { useState } from 'react';

import { post } from '../api/client';
import type { Plan } from '../api/types';
import { useChangeSearch } from '../app/search-params';
import { useShortcuts } from '../app/shortcuts';
import { Button } from '../design/button';
import { Commit } from '../design/commit';
import { DiffModes, readMode } from '../design/diff/diff-view';
import { asServerTime } from '../design/now';
import { Note } from '../design/note';
import { Empty, Failed, Loading } from '../design/placeholders';
import { Sentence } from '../design/sentence';
import { Time } from '../design/time';
import { GroupList, VARIATIONS } from './group-list';
import { concludePlan, groupsOf } from './plan-model';
import { PlannedObjects } from './planned-objects';
import { Variations } from './variations';
import './plan.css';

/** A plan is made when it is asked for, and again only then: each one asks every cluster. */
function usePlan(application: string, commit: string, strategy: string) {
  const path = `/applications/${encodeURIComponent(application)}/plan`;
  return useQuery({
    queryKey: [path, { commit, strategy }],
    queryFn: () => post<Plan>(path, { commit, strategy }),
    staleTime: Infinity,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
    retry: false,
  });
}

/** What a commit would change, cluster by cluster, before anybody merges it. */
export function PlanPage() {
  const { application } = useParams({ from: '/applications/$application/plan' });
  const search = useSearch({ from: '/applications/$application/plan' });
  const asked = usePlan(application, search.commit ?? '', search.strategy ?? '');
  return (
    <div className="page stack">
      <header className="row wrap">
        <h1 className="grow">
          Plan for{' '}
          <Link to="/applications/$application" params={{ application }}>
            {application}
          </Link>
        </h1>
      </header>
      <PlanForm key={`${search.commit} ${search.strategy}`} isBusy={asked.isFetching} onAgain={() => void asked.refetch()} />
      {asked.isPending && <Loading lines={8} label="Asking the clusters what they would do" />}
      {asked.isError && <Failed error={asked.error} onRetry={() => void asked.refetch()} />}
      {asked.data && <PlanView plan={asked.data} at={asked.dataUpdatedAt} />}
    </div>
  );
}

function PlanForm({ isBusy, onAgain }: { isBusy: boolean; onAgain: () => void }) {
  const search = useSearch({ from: '/applications/$application/plan' });
  const change = useChangeSearch();
  const [commit, setCommit] = useState(search.commit ?? '');
  const [strategy, setStrategy] = useState(search.strategy ?? '');
  const isSame = commit.trim() === (search.commit ?? '') && strategy === (search.strategy ?? '');
  return (
    <form
      className="row wrap plan-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (isSame) onAgain();
        else change({ commit: commit.trim(), strategy, group: '', object: '' });
      }}
    >
      <label className="row grow">
        <span>Commit</span>
        <input
          data-search
          className="mono grow"
          value={commit}
          placeholder="head of the branch, or a commit, branch, tag, pull/7/head"
          maxLength={253}
          pattern="[A-Za-z0-9._\/\-]*"
          spellCheck={false}
          onChange={(event) => setCommit(event.target.value)}
        />
      </label>
      <label className="row">
        <span>Strategy</span>
        <select value={strategy} onChange={(event) => setStrategy(event.target.value)}>
          <option value="">as planned</option>
          <option value="quick">quick</option>
          <option value="pipeline">pipeline</option>
        </select>
      </label>
      <Button type="submit" kind="primary" disabledReason={isBusy ? 'the clusters are being asked' : undefined}>
        {isBusy ? 'Asking the clusters…' : isSame ? 'Plan again' : 'Plan'}
      </Button>
    </form>
  );
}

function statusOf(plan: Plan): string {
  if (plan.failed) return 'failed';
  return plan.hasChanges ? 'differs' : 'inSync';
}

/** A plan that was made. `at`: when, in milliseconds of this browser. */
export function PlanView({ plan, at }: { plan: Plan; at: number }) {
  const search = useSearch({ from: '/applications/$application/plan' });
  const change = useChangeSearch();
  const groups = groupsOf(plan);
  const variations = plan.variations;
  const mode = readMode(search.mode);
  const chosen = groups.find((group) => group.id === search.group) ?? groups[0];
  const isComparing = search.group === VARIATIONS && variations.length > 0;
  const step = (by: number) => {
    const place = groups.findIndex((group) => group.id === chosen?.id);
    const next = groups[isComparing ? groups.length - 1 : place + by];
    if (next) change({ group: next.id, object: '' }, { replace: true });
  };
  useShortcuts([
    { key: 'j', title: 'Next group of clusters', run: () => step(1) },
    { key: 'k', title: 'Previous group of clusters', run: () => step(-1) },
    {
      key: 'd',
      title: 'Differences unified or side by side',
      run: () => change({ mode: mode === 'split' ? '' : 'split' }, { replace: true }),
    },
  ]);
  return (
    <>
      <Sentence status={statusOf(plan)}>{concludePlan(plan)}</Sentence>
      <PlanFacts plan={plan} at={at} />
      {plan.warnings.map((warning) => (
        <Note key={warning}>{warning}</Note>
      ))}
      {chosen ? (
        <div className="plan-body">
          <GroupList
            groups={groups}
            chosen={isComparing ? VARIATIONS : chosen.id}
            variations={variations.length}
            onChoose={(group) => change({ group, object: '' })}
          />
          <section className="grow stack" aria-label="What would change">
            <div className="row wrap">
              <h2 className="grow">
                {isComparing ? 'What differs between clusters' : chosen.clusters.join(', ')}
              </h2>
              {!isComparing && (
                <DiffModes
                  mode={mode}
                  onChoose={(next) => change({ mode: next === 'split' ? next : '' }, { replace: true })}
                />
              )}
            </div>
            {isComparing ? (
              <Variations groups={groups} variations={variations} />
            ) : (
              <PlannedObjects
                key={chosen.id}
                group={chosen}
                mode={mode}
                opened={search.object ?? ''}
                onOpen={(object) => change({ object }, { replace: true })}
              />
            )}
          </section>
        </div>
      ) : (
        <Empty title="No cluster would take part">
          The application&apos;s file names no cluster of the fleet, or all are left out.
        </Empty>
      )}
    </>
  );
}

function PlanFacts({ plan, at }: { plan: Plan; at: number }) {
  return (
    <div className="stack">
      <dl className="plan-facts">
        <dt>Commit</dt>
        <dd>
          <Commit commit={plan.commit} /> {plan.subject}
        </dd>
        <dt>Runs now</dt>
        <dd>
          {plan.runningCommit ? <Commit commit={plan.runningCommit} /> : 'nothing yet'}{' '}
          <span className="muted">{plan.runningReason}</span>
        </dd>
        <dt>Strategy</dt>
        <dd>
          {plan.strategy.replaceAll('_', ' ')} <span className="muted">{plan.reason}</span>
        </dd>
        <dt>Observed</dt>
        <dd>
          <Time at={asServerTime(at)} />
          <span className="muted">; nothing was changed in any cluster</span>
        </dd>
      </dl>
      {plan.stages.length > 0 && (
        <details>
          <summary>{`${plan.stages.length} ${plan.stages.length === 1 ? 'stage' : 'stages'}`}</summary>
          <ol className="plan-stages">
            {plan.stages.map((stage, index) => (
              <li key={`${index} ${stage.name}`}>
                <code>{stage.name}</code> {stage.skipped ? `skipped: ${stage.skipped}` : stage.description}{' '}
                <span className="muted">
                  {stage.clusters.length < plan.clusters.length && !stage.skipped
                    ? `on ${stage.clusters.join(', ')}`
                    : ''}
                </span>
              </li>
            ))}
          </ol>
        </details>
      )}
    </div>
  );
}
