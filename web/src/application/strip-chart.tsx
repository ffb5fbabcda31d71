import { shortCommit } from '../design/commit';
import { exact } from '../design/clock';
import type { ClusterStrip } from './version-strip';

/** Clusters whose strips are drawn; those beyond have the same list of runs below. */
const MOST_STRIPS = 40;
/** No shorter: the first minutes of an application are not stretched over the page. */
const LEAST_MS = 600_000;

/** Each cluster's versions over time, one colour for each version. */
export function StripChart({
  strips,
  colours,
  chosen,
  onChoose,
  now,
}: {
  strips: readonly ClusterStrip[];
  colours: ReadonlyMap<string, number>;
  /** The commit that stands out; empty: none. */
  chosen: string;
  onChoose: (commit: string) => void;
  now: number;
}) {
  const starts = strips.flatMap((strip) => strip.segments.map((segment) => segment.from));
  if (starts.length === 0) return null;
  const since = Math.min(...starts, now - LEAST_MS);
  const share = (at: number) => (at - since) / Math.max(1, now - since);
  return (
    <section className="strips" aria-label="Versions over time">
      {strips.slice(0, MOST_STRIPS).map((strip) => (
        <div key={strip.cluster} className="strip">
          <span className="strip-name truncate" title={strip.cluster}>
            {strip.cluster}
          </span>
          <div className="strip-line">
            {strip.segments.map((segment) => {
              const width = share(segment.until) - share(segment.from);
              const colour = colours.get(segment.commit) ?? 1;
              const how = segment.isUnderWay ? 'being released' : segment.isReturn ? 'after a rollback' : 'released';
              const title = `${strip.cluster}: ${shortCommit(segment.commit)}, ${how} since ${exact(segment.from)}`;
              return (
                <button
                  key={segment.run}
                  type="button"
                  className={[
                    'strip-segment',
                    `commit-${colour}`,
                    segment.isUnderWay ? 'strip-under-way' : '',
                    chosen && chosen !== segment.commit ? 'strip-dim' : '',
                  ].join(' ')}
                  style={{ insetInlineStart: `${share(segment.from) * 100}%`, width: `${width * 100}%` }}
                  title={title}
                  aria-label={title}
                  aria-pressed={chosen === segment.commit}
                  onClick={() => onChoose(segment.commit)}
                >
                  <code aria-hidden="true">
                    {segment.isReturn && '↺ '}
                    {shortCommit(segment.commit)}
                  </code>
                </button>
              );
            })}
          </div>
        </div>
      ))}
      <div className="strip">
        <span className="strip-name" />
        <div className="row strip-axis muted small">
          <span className="grow">{exact(since).slice(0, 16)}</span>
          <span>now</span>
        </div>
      </div>
      {strips.length > MOST_STRIPS && (
        <p className="muted">{`${strips.length - MOST_STRIPS} clusters more are not drawn`}</p>
      )}
    </section>
  );
}
