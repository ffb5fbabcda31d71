import { useSearch } from '@tanstack/react-router';

import { useChangeSearch } from '../app/search-params';
import '../design/layout.css';
import { Tabs } from '../design/tabs';
import { AuditList } from './audit-list';
import { LiveEvents } from './live-events';
import { RunList } from './run-list';
import './activity.css';

/** Who did what, which runs there were, and what happens now. */
export function ActivityPage() {
  const search = useSearch({ from: '/activity' });
  const change = useChangeSearch();
  return (
    <div className="page">
      <h1>Activity</h1>
      <Tabs
        label="Kinds of activity"
        chosen={search.tab ?? 'people'}
        onChoose={(tab) => change({ tab: tab === 'people' ? '' : tab, entry: '' })}
        items={[
          { name: 'people', title: 'Who did what', content: <AuditList /> },
          { name: 'runs', title: 'Runs', content: <RunList /> },
          { name: 'now', title: 'As it happens', content: <LiveEvents /> },
        ]}
      />
    </div>
  );
}
