import { Loading } from '../design/placeholders';

export function PlanPage() {
  return (
    <div className="page">
      <h1>Plan</h1>
      <Loading />
    </div>
  );
}
