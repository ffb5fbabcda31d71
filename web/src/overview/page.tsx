import { useQuery } from '@tanstack/react-query';

import { useChanges } from '../app/use-changes';
import { Failed, Loading } from '../design/placeholders';
import { Sentence } from '../design/sentence';
import { Time } from '../design/time';
import { Applications } from './applications';
import { NeedsYou } from './needs-you';
import { overviewQuery } from './queries';
import { Running } from './running';
import './overview.css';

const FOLLOWED = [['/overview'], ['/overview/applications']] as const;

/** Home: what needs a person, what is under way, and what runs where. */
export function OverviewPage() {
  const { data: overview, error, refetch } = useQuery({ ...overviewQuery, refetchInterval: 30_000 });
  useChanges(FOLLOWED);

  if (!overview) {
    return (
      <div className="page">
        <h1 className="spoken">Overview</h1>
        {error ? <Failed error={error} onRetry={() => void refetch()} /> : <Loading lines={10} />}
      </div>
    );
  }
  return (
    <div className="page overview">
      <h1 className="spoken">Overview</h1>
      <Sentence status={overview.attention.length > 0 ? 'waiting' : 'synced'}>
        {overview.sentence}{' '}
        <span className="muted small">
          as of <Time at={overview.at} />
          {error && `; now: ${error.message}`}
        </span>
      </Sentence>
      <NeedsYou items={overview.attention} omitted={overview.attentionOmitted} />
      <Running items={overview.running} omitted={overview.runningOmitted} />
      <Applications overview={overview} />
    </div>
  );
}
