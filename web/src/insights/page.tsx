import { Loading } from '../design/placeholders';

export function InsightsPage() {
  return (
    <div className="page">
      <h1>Insights</h1>
      <Loading />
    </div>
  );
}
