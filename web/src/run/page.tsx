import { Loading } from '../design/placeholders';

export function RunPage() {
  return (
    <div className="page">
      <h1>Run</h1>
      <Loading />
    </div>
  );
}
