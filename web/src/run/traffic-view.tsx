import { useQuery } from '@tanstack/react-query';

import { reading } from '../api/queries';
import type { RunTraffic, WeightSample } from '../api/types';
import { Empty, Failed, Loading } from '../design/placeholders';
import { Time } from '../design/time';
import { SplitBar } from './split-bar';
import { splitFrom } from './traffic-split';
import { stageTitle, columnKey } from './matrix';
import { runPath } from './use-run';

/** How a run moved the traffic of one cluster, the newest first. */
export function TrafficView({ run, cluster, isLive }: { run: string; cluster: string; isLive: boolean }) {
  const { data, error, refetch } = useQuery({
    ...reading<RunTraffic>(`${runPath(run)}/traffic`),
    refetchInterval: isLive ? 5_000 : false,
  });
  if (!data) return error ? <Failed error={error} onRetry={() => void refetch()} /> : <Loading lines={4} />;
  const samples = data.samples.filter((sample) => sample.cluster === cluster);
  const now = data.now.find((sample) => sample.cluster === cluster);
  if (samples.length === 0 && !now) {
    return (
      <Empty title={`This run has not moved traffic in ${cluster}`}>
        A <code>K8S_TRAFFIC_ROUTING</code> stage sends a share of the users to the canary.
      </Empty>
    );
  }
  return (
    <div className="stack">
      {now && <Moment sample={now} label="users now" />}
      <ol className="stack">
        {[...samples].reverse().map((sample, index) => (
          <li key={index}>
            <Moment sample={sample} label={stageTitle(columnKey(sample.stage).replace(/^\d+-/, ''))} />
          </li>
        ))}
      </ol>
      {data.omitted > 0 && <p className="muted small">{`${data.omitted} older reports of this run are not shown`}</p>}
    </div>
  );
}

function Moment({ sample, label }: { sample: WeightSample; label: string }) {
  return (
    <div className="row wrap">
      <span className="muted small event-at">
        <Time at={sample.at} />
      </span>
      <span className="traffic-split">
        <SplitBar split={splitFrom(sample.wanted, sample.observed)} />
      </span>
      <span className="muted small">{label}</span>
    </div>
  );
}
