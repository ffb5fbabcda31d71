import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';

import { segment } from '../api/client';
import { reading } from '../api/queries';
import type { Action, Application, Run } from '../api/types';
import { Commit } from '../design/commit';
import { Sentence } from '../design/sentence';
import { StateWord } from '../design/state-shape';
import { Elapsed, Time } from '../design/time';
import { RunActions } from './run-actions';

/** The sentence of a run: why it ended, else what it is at, with the cause that was seen. */
export function runSentence(run: Run, cause: string): string {
  if (run.summary.finished !== null) return run.summary.reason || 'it has ended';
  return cause || run.waitingReason || run.summary.reason || run.whatNext || 'it goes on';
}

/** What a run is, what is the matter with it, and what may be done. */
export function RunHead({ run, actions, cluster }: { run: Run; actions: readonly Action[]; cluster: string }) {
  const { summary } = run;
  const isLive = summary.finished === null;
  const { data: application } = useQuery({
    ...reading<Application>(`/applications/${segment(summary.application)}`),
    enabled: isLive,
    refetchInterval: 3_000,
  });
  const cause = application?.run === summary.id ? application.cause : '';
  return (
    <header className="stack run-head">
      <div className="row wrap">
        <h1 className="row wrap grow run-title">
          <Link to="/applications/$application" params={{ application: summary.application }}>
            {summary.application}
          </Link>
          <Commit commit={summary.commit} />
          {summary.subject && <span className="run-subject truncate">“{summary.subject}”</span>}
        </h1>
        <RunActions actions={actions} cluster={cluster} />
      </div>
      <div className="row wrap small muted run-facts">
        <StateWord status={summary.status} />
        <span>{summary.strategy}</span>
        <span>
          started <Time at={summary.started} none="not yet" />
          {summary.by && ` by ${summary.by}`}
        </span>
        <Elapsed from={summary.started} until={summary.finished} />
      </div>
      <Sentence status={run.held ? 'held' : summary.status}>{runSentence(run, cause)}</Sentence>
      {isLive && (
        <p className="small muted">
          {run.whatNext && <>Next: {run.whatNext}. </>}
          {run.ifFailed && <>If it fails: {run.ifFailed}</>}
        </p>
      )}
      {run.warnings.length > 0 && (
        <details className="small">
          <summary>{run.warnings.length} warnings</summary>
          <ul>
            {run.warnings.map((warning, index) => (
              <li key={index}>{warning}</li>
            ))}
          </ul>
        </details>
      )}
    </header>
  );
}
