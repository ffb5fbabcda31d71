import { Link } from '@tanstack/react-router';

import type { Distribution, Insights } from '../api/types';
import { Time } from '../design/time';
import { BarChart, ScatterChart } from './charts';
import { failureBars, frequencyBars, titleOf, writeValue } from './insights-model';

const MOST_RUNS = 50;

/** One figure: its value, how it is counted, its distribution, and the runs behind it. */
export function FigurePanel({ figure, insights }: { figure: Distribution; insights: Insights }) {
  const { title } = titleOf(figure);
  return (
    <section className="panel figure" aria-label={title}>
      <header>
        <h2>{title}</h2>
        <p className="figure-value">{writeValue(figure.unit === 'seconds' ? figure.median : figure.value, figure.unit)}</p>
        <p className="muted small">{describeSpread(figure)}</p>
      </header>
      {figure.points.length > 0 && <Chart figure={figure} insights={insights} title={title} />}
      <p className="small">{figure.definition}</p>
      <Runs figure={figure} />
    </section>
  );
}

function describeSpread(figure: Distribution): string {
  if (figure.value === null && figure.median === null) return 'nothing to count in this time';
  if (figure.unit === 'seconds')
    return `median; 90 % within ${writeValue(figure.high, figure.unit)}, mean ${writeValue(figure.value, figure.unit)}`;
  if (figure.unit === 'ratio') {
    const failed = figure.points.filter((point) => point.value > 0).length;
    const isWhole = figure.omitted === 0;
    return isWhole ? `${failed} of ${figure.points.length} changes` : 'of all changes';
  }
  return 'on average';
}

function Chart({ figure, insights, title }: { figure: Distribution; insights: Insights; title: string }) {
  const since = Date.parse(insights.since);
  const until = Date.parse(insights.until);
  if (figure.unit === 'seconds') return <ScatterChart figure={figure} since={since} until={until} title={title} />;
  if (figure.unit === 'perDay')
    return (
      <BarChart
        bars={frequencyBars(insights)}
        since={since}
        until={until}
        title={title}
        write={(bar) => `${bar.total} ${bar.total === 1 ? 'deployment' : 'deployments'}`}
      />
    );
  return (
    <BarChart
      bars={failureBars(figure, since, until)}
      since={since}
      until={until}
      title={title}
      most={1}
      isBad
      write={(bar) => `${writeValue(bar.value, 'ratio')} of ${bar.total} changes`}
    />
  );
}

function Runs({ figure }: { figure: Distribution }) {
  if (figure.points.length === 0) return null;
  const newest = [...figure.points].sort((one, other) => Date.parse(other.at) - Date.parse(one.at));
  return (
    <details>
      <summary>{`The runs behind it (${figure.points.length + figure.omitted})`}</summary>
      <ul className="figure-runs">
        {newest.slice(0, MOST_RUNS).map((point) => (
          <li key={`${point.run} ${point.at}`} className="row">
            <Link to="/runs/$run" params={{ run: point.run }} className="grow truncate">
              {`${point.application} ${point.run}`}
            </Link>
            <span>{figure.unit === 'ratio' ? (point.value > 0 ? 'failed' : 'went well') : figure.unit === 'seconds' ? writeValue(point.value, figure.unit) : ''}</span>
            <span className="muted">
              <Time at={point.at} as="calendar" />
            </span>
          </li>
        ))}
      </ul>
      {figure.points.length > MOST_RUNS && (
        <p className="muted small">{`The last ${MOST_RUNS} are listed; the chart shows ${figure.points.length}.`}</p>
      )}
    </details>
  );
}
