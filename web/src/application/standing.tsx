import { Link } from '@tanstack/react-router';

import type { Application, Drift, LiveTree } from '../api/types';
import { Commit, commitColours } from '../design/commit';
import { StateShape, StateWord } from '../design/state-shape';
import { stateOf } from '../design/state';
import { Time } from '../design/time';
import { runningCommits } from './application-model';
import { count } from './tree-model';

const MOST_COMMITS = 4;

/** What Git says, what runs, and the difference, beside each other. */
export function Standing({
  application,
  tree,
  drift,
}: {
  application: Application;
  tree: LiveTree | undefined;
  drift: Drift | undefined;
}) {
  const running = tree ? runningCommits(tree) : [];
  const colours = commitColours([application.head, ...running.map((each) => each.commit)]);
  return (
    <div className="standing">
      <section className="panel standing-part" aria-labelledby="standing-git">
        <h2 id="standing-git">Git says</h2>
        <p>
          <Commit commit={application.head} colour={colours.get(application.head)} />{' '}
          <span className="muted">on {application.branch || 'its branch'}</span>
        </p>
        <p className="muted small breakable">{`${application.repository} ${application.path}`}</p>
      </section>
      <section className="panel standing-part" aria-labelledby="standing-runs">
        <h2 id="standing-runs">Runs</h2>
        {running.length === 0 && (
          <p>
            <Commit commit={application.runningCommit} />
          </p>
        )}
        {running.slice(0, MOST_COMMITS).map(({ commit, variant, clusters }) => (
          <p key={`${variant} ${commit}`}>
            <Commit commit={commit} colour={colours.get(commit)} />{' '}
            <span className="muted" title={clusters.join(', ')}>
              {variant && `as ${variant} `}on {count(clusters.length, 'cluster')}
            </span>
          </p>
        ))}
        {running.length > MOST_COMMITS && (
          <p className="muted">{`and ${running.length - MOST_COMMITS} commits more`}</p>
        )}
        <Missing missing={application.missing} />
      </section>
      <section className="panel standing-part" aria-labelledby="standing-difference">
        <h2 id="standing-difference">Difference</h2>
        <Difference application={application} drift={drift} />
      </section>
    </div>
  );
}

function Missing({ missing }: { missing: Readonly<Record<string, string>> }) {
  const waiting = Object.entries(missing);
  if (waiting.length === 0) return null;
  return (
    <details>
      <summary>{`${count(waiting.length, 'cluster')} without the last release`}</summary>
      <ul>
        {waiting.map(([cluster, reason]) => (
          <li key={cluster} className="breakable">{`${cluster}: ${reason}`}</li>
        ))}
      </ul>
    </details>
  );
}

function Difference({ application, drift }: { application: Application; drift: Drift | undefined }) {
  const isAhead = application.head !== '' && application.head !== application.runningCommit;
  // It was compared with that release, not with what Git says by now.
  const reason = isAhead && drift?.status === 'inSync' ? 'every object is as that release says' : drift?.reason;
  return (
    <>
      {isAhead && (
        <p>
          Git is ahead of what was released last:{' '}
          <Link
            to="/applications/$application/plan"
            params={{ application: application.name }}
            search={{ commit: application.head }}
          >
            see what would change
          </Link>
        </p>
      )}
      {application.waiting && (
        <p className="breakable">{`Next: ${application.waiting.reason}; waits: ${application.waiting.waitingReason}`}</p>
      )}
      {drift ? (
        <p className="breakable">
          {reason ? (
            <>
              <StateShape status={drift.status} label={stateOf(drift.status).word} /> {reason}
            </>
          ) : (
            <StateWord
              status={drift.status === 'off' ? 'unknown' : drift.status}
              {...(drift.status === 'off' ? { word: 'drift is not looked for' } : {})}
            />
          )}{' '}
          {drift.since && (
            <span className="muted">
              since <Time at={drift.since} />
            </span>
          )}
        </p>
      ) : (
        <p className="muted">Drift is not known yet</p>
      )}
    </>
  );
}
