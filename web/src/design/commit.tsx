import './commit.css';

/** A commit's beginning, as long as Git shows it. */
export function shortCommit(commit: string): string {
  return commit.slice(0, 7);
}

/**
 * Give each commit a colour, in the order they come; the same list gives the same colours.
 *
 * From the seventh on they share: the word beside the colour says which it is.
 */
export function commitColours(commits: readonly string[]): Map<string, number> {
  const colours = new Map<string, number>();
  for (const commit of commits) {
    if (commit && !colours.has(commit)) colours.set(commit, (colours.size % 6) + 1);
  }
  return colours;
}

export function Commit({ commit, colour }: { commit: string; colour?: number | undefined }) {
  if (!commit) return <span className="muted">none</span>;
  return (
    <code className={colour ? `commit commit-${colour}` : 'commit'} title={commit}>
      {shortCommit(commit)}
    </code>
  );
}
