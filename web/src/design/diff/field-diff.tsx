import { DiffView, type DiffMode } from './diff-view';
import type { FieldLines } from './field';

/** One field, before and after; of a secret only that it changed. */
export function FieldDiff({
  field,
  mode,
  sides,
}: {
  field: FieldLines;
  mode: DiffMode;
  sides?: readonly [string, string];
}) {
  return (
    <div className="field-diff">
      <div className="row wrap">
        <code className="field-path">{field.path}</code>
        {field.isMasked && <span className="badge">secret, changed</span>}
      </div>
      {!field.isMasked && (
        <DiffView lines={field.lines} mode={mode} label={field.path} {...(sides ? { sides } : {})} />
      )}
    </div>
  );
}
