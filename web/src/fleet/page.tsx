import { Loading } from '../design/placeholders';

export function FleetPage() {
  return (
    <div className="page">
      <h1>Fleet</h1>
      <Loading />
    </div>
  );
}
