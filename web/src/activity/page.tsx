import { Loading } from '../design/placeholders';

export function ActivityPage() {
  return (
    <div className="page">
      <h1>Activity</h1>
      <Loading />
    </div>
  );
}
