import { Loading } from '../design/placeholders';

export function ApplicationPage() {
  return (
    <div className="page">
      <h1>Application</h1>
      <Loading />
    </div>
  );
}
