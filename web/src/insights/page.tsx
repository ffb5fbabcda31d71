import { useQuery } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { useDeferredValue, useId } from 'react';

import type { Page } from '../api/client';
import { reading } from '../api/queries';
import type { Application, Insights } from '../api/types';
import { useChangeSearch } from '../app/search-params';
import '../design/layout.css';
import { Note } from '../design/note';
import { Empty, Failed, Loading } from '../design/placeholders';
import { Sentence } from '../design/sentence';
import { Time } from '../design/time';
import { FigurePanel } from './figure-panel';
import { describeInsights } from './insights-model';
import './insights.css';

const DAYS = ['7', '30', '90', '365'];
const DEFAULT_DAYS = '30';
const AGAIN_MS = 60_000;

/** How delivery goes: four figures, each over time and with the runs behind it. */
export function InsightsPage() {
  const search = useSearch({ from: '/insights' });
  const asked = useDeferredValue({
    project: search.project ?? '',
    application: search.application ?? '',
    days: DAYS.includes(search.days ?? '') ? (search.days ?? DEFAULT_DAYS) : DEFAULT_DAYS,
  });
  const insights = useQuery({ ...reading<Insights>('/insights', asked), refetchInterval: AGAIN_MS });
  return (
    <div className="page">
      <h1>Insights</h1>
      <Filters days={asked.days} at={insights.dataUpdatedAt} />
      {insights.isPending && <Loading lines={8} label="Counting" />}
      {insights.isError && <Failed error={insights.error} onRetry={() => void insights.refetch()} />}
      {insights.data && <Figures insights={insights.data} />}
    </div>
  );
}

function Figures({ insights }: { insights: Insights }) {
  if (insights.runs === 0)
    return (
      <Empty title="No run ended in this time">
        Each run that ends is counted by itself: roll something out with <code>volary sync APPLICATION</code>, or
        look at a longer time. Nothing has to be set up.
      </Empty>
    );
  return (
    <>
      <Sentence status="ready">{describeInsights(insights)}</Sentence>
      {insights.omitted > 0 && (
        <Note>{`Only the newest runs are counted: ${insights.omitted} older ones in this time are not.`}</Note>
      )}
      <div className="figures">
        {insights.figures.map((figure) => (
          <FigurePanel key={figure.name} figure={figure} insights={insights} />
        ))}
      </div>
    </>
  );
}

function Filters({ days, at }: { days: string; at: number }) {
  const search = useSearch({ from: '/insights' });
  const change = useChangeSearch();
  const id = useId();
  const applications = useQuery({
    ...reading<Page<Application>>('/applications', { limit: 500 }),
    staleTime: 60_000,
  });
  const known = applications.data?.items ?? [];
  const projects = [...new Set(known.map((each) => each.project))].filter(Boolean).sort();
  return (
    <div className="row wrap filters">
      <label className="row">
        <span>Project</span>
        <select value={search.project ?? ''} onChange={(event) => change({ project: event.target.value })}>
          <option value="">all</option>
          {[...new Set([...projects, ...(search.project ? [search.project] : [])])].map((project) => (
            <option key={project}>{project}</option>
          ))}
        </select>
      </label>
      <label className="row">
        <span>Application</span>
        <input
          data-search
          type="search"
          list={id}
          placeholder="all"
          value={search.application ?? ''}
          maxLength={253}
          onChange={(event) => change({ application: event.target.value }, { replace: true })}
        />
        <datalist id={id}>
          {known.map((each) => (
            <option key={each.name} value={each.name} />
          ))}
        </datalist>
      </label>
      <label className="row">
        <span>Time</span>
        <select value={days} onChange={(event) => change({ days: event.target.value === DEFAULT_DAYS ? '' : event.target.value })}>
          {DAYS.map((each) => (
            <option key={each} value={each}>{`last ${each} days`}</option>
          ))}
        </select>
      </label>
      <span className="grow" />
      {at > 0 && (
        <span className="muted small">
          counted <Time at={new Date(at).toISOString()} />
        </span>
      )}
    </div>
  );
}
