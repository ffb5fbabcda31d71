import { useQuery } from '@tanstack/react-query';

import { reading } from '../api/queries';
import type { MetricAnalysis, MetricVerdict, RunAnalysis } from '../api/types';
import { Empty, Failed, Loading } from '../design/placeholders';
import { Sentence } from '../design/sentence';
import { StateWord } from '../design/state-shape';
import { Time } from '../design/time';
import { Chart } from './chart';
import { boundsSentence, byCluster, headVerdicts, isScore, pooled } from './chart-data';
import { runPath } from './use-run';
import { factsOf } from './verdict-numbers';

/** Scores of clusters that are said in words above their pictures. */
const HEAD_VERDICTS = 3;

/** What a run measured: the verdict as a sentence, all clusters together, then each. */
export default function AnalysisView({ run, cluster, isLive }: { run: string; cluster: string; isLive: boolean }) {
  const { data, error, refetch } = useQuery({
    ...reading<RunAnalysis>(`${runPath(run)}/analysis`),
    refetchInterval: isLive ? 5_000 : false,
  });
  if (!data) return error ? <Failed error={error} onRetry={() => void refetch()} /> : <Loading lines={6} />;
  if (data.metrics.length === 0) {
    return (
      <Empty title="This run measures nothing">
        An <code>ANALYSIS</code> stage in the pipeline compares the canary with the baseline.
      </Empty>
    );
  }
  return (
    <div className="stack">
      {data.sentence && <p>{data.sentence}</p>}
      {data.metrics.map((metric) => (
        <Metric key={`${metric.stage} ${metric.metric}`} metric={metric} cluster={cluster} />
      ))}
    </div>
  );
}

function Metric({ metric, cluster }: { metric: MetricAnalysis; cluster: string }) {
  const clusters = byCluster(metric);
  const first = clusters.filter(([name]) => name === cluster);
  const others = clusters.filter(([name]) => name !== cluster);
  return (
    <section className="stack" aria-label={metric.metric}>
      <h3>
        {metric.metric} <span className="muted">{boundsSentence(metric)}</span>
      </h3>
      {headVerdicts(metric, HEAD_VERDICTS).map((verdict) => (
        <Verdict key={verdict.cluster} verdict={verdict} />
      ))}
      <div className="charts">
        {clusters.length > 1 && !isScore(metric.series) && <Chart label="all clusters" series={pooled(metric)} bounds={metric.bounds} />}
        {[...first, ...others].slice(0, 60).map(([name, series]) => (
          <Chart key={name} label={name} series={series} bounds={metric.bounds} isOutlier={name === metric.outlier} />
        ))}
      </div>
      {clusters.length > 60 && <p className="muted small">and {clusters.length - 60} clusters more</p>}
      <details>
        <summary>{metric.query ? 'Query and verdicts' : 'Verdicts'}</summary>
        {metric.query && <pre className="small">{metric.query}</pre>}
        <ul className="stack">
          {metric.verdicts.slice(0, 50).map((verdict, index) => (
            <li key={index} className="small">
              <StateWord status={verdict.result} /> {verdict.cluster || 'all clusters'}: {verdict.sentence}{' '}
              <span className="muted">
                <Time at={verdict.at} />
              </span>
            </li>
          ))}
        </ul>
      </details>
    </section>
  );
}

function Verdict({ verdict }: { verdict: MetricVerdict }) {
  const facts = factsOf(verdict.numbers);
  return (
    <>
      <Sentence status={verdict.result}>{verdict.sentence}</Sentence>
      {facts.length > 0 && (
        <dl className="row wrap small verdict-numbers" aria-label="What the verdict rests on">
          {facts.map(([name, text]) => (
            <div key={name} className="row">
              <dt className="muted">{name}</dt>
              <dd>{text}</dd>
            </div>
          ))}
        </dl>
      )}
    </>
  );
}
