import { StateShape } from '../design/state-shape';
import { describeGroup, type ClusterGroup } from './plan-model';

/** What stands for the comparison in the address: no cluster can be called so. */
export const VARIATIONS = '~';

const STATUS: Readonly<Record<string, string>> = {
  refused: 'failed',
  unreachable: 'unreachable',
  not_pruned: 'waiting',
  changes: 'differs',
  unchanged: 'inSync',
};
const MOST_NAMES = 6;

/** Clusters that would do the same, as one line each. */
export function GroupList({
  groups,
  chosen,
  variations,
  onChoose,
}: {
  groups: readonly ClusterGroup[];
  chosen: string;
  /** How many objects differ between groups. */
  variations: number;
  onChoose: (group: string) => void;
}) {
  return (
    <nav className="plan-groups" aria-label="Clusters that would do the same">
      <ul>
        {groups.map((group) => (
          <li key={group.id}>
            <button
              type="button"
              className="plan-group"
              aria-current={group.id === chosen ? 'true' : undefined}
              onClick={() => onChoose(group.id)}
            >
              <StateShape status={STATUS[group.planned.status] ?? 'unknown'} />
              <span className="grow">
                <span className="plan-group-title">
                  {group.clusters.length === 1 ? '1 cluster' : `${group.clusters.length} clusters`}:{' '}
                  {describeGroup(group.planned)}
                </span>
                <span className="muted small plan-group-names" title={group.clusters.join(', ')}>
                  {namesOf(group.clusters)}
                </span>
              </span>
            </button>
          </li>
        ))}
        {variations > 0 && (
          <li>
            <button
              type="button"
              className="plan-group"
              aria-current={chosen === VARIATIONS ? 'true' : undefined}
              onClick={() => onChoose(VARIATIONS)}
            >
              <StateShape status="differs" />
              <span className="grow">
                <span className="plan-group-title">What differs between clusters</span>
                <span className="muted small plan-group-names">
                  {variations === 1 ? '1 object' : `${variations} objects`}
                </span>
              </span>
            </button>
          </li>
        )}
      </ul>
    </nav>
  );
}

function namesOf(clusters: readonly string[]): string {
  const shown = clusters.slice(0, MOST_NAMES).join(', ');
  return clusters.length > MOST_NAMES ? `${shown} and ${clusters.length - MOST_NAMES} more` : shown;
}
