import type { PlannedCluster, PlannedObject } from '../api/types';
import type { DiffMode } from '../design/diff/diff-view';
import { FieldDiff } from '../design/diff/field-diff';
import { Note } from '../design/note';
import { Empty } from '../design/placeholders';
import { byKind, fieldsOf } from './plan-model';

const SIGNS: Readonly<Record<string, string>> = { created: '+', changed: '~', pruned: '−', kept: '=' };
/** Objects that are open from the beginning; a page of hundreds begins as a list. */
const MOST_OPEN = 12;

/** What one group of clusters would do, object by object. */
export function PlannedObjects({
  planned,
  mode,
  opened,
  onOpen,
}: {
  planned: PlannedCluster;
  mode: DiffMode;
  /** The object that the address names; empty: none. */
  opened: string;
  onOpen: (object: string) => void;
}) {
  const notes = [
    ...(planned.unreachableReason ? [planned.unreachableReason] : []),
    ...planned.problems,
    ...(planned.pruneRefusal ? [planned.pruneRefusal] : []),
    ...planned.warnings,
  ];
  return (
    <div className="stack">
      {notes.map((note) => (
        <Note key={note}>{note}</Note>
      ))}
      {byKind(planned.objects).map(([kind, objects]) => (
        <section key={kind} className="stack" aria-label={kind}>
          <h3>{`${kind} (${objects.length})`}</h3>
          {objects.map((object) => (
            <ObjectDiff
              key={object.object}
              object={object}
              mode={mode}
              isOpen={object.object === opened || planned.objects.length <= MOST_OPEN}
              isNamed={object.object === opened}
              onOpen={onOpen}
            />
          ))}
        </section>
      ))}
      {planned.objects.length === 0 && notes.length === 0 && (
        <Empty title="Nothing would change">
          {planned.unchanged > 0
            ? `${planned.unchanged} objects are as the commit says.`
            : 'The commit says nothing about these clusters.'}
        </Empty>
      )}
    </div>
  );
}

function ObjectDiff({
  object,
  mode,
  isOpen,
  isNamed,
  onOpen,
}: {
  object: PlannedObject;
  mode: DiffMode;
  isOpen: boolean;
  isNamed: boolean;
  onOpen: (object: string) => void;
}) {
  const fields = fieldsOf(object);
  const head = (
    <>
      <span className={`plan-sign plan-sign-${object.action}`} aria-hidden="true">
        {SIGNS[object.action] ?? '?'}
      </span>
      <span className="grow plan-object-name">
        {object.object} <span className="muted">{object.action}</span>
      </span>
    </>
  );
  if (fields.length === 0)
    return (
      <div className="panel plan-object plan-object-head">
        {head}
        {object.reason && <span className="muted">{object.reason}</span>}
      </div>
    );
  return (
    <details
      ref={(element) => {
        if (isNamed) element?.scrollIntoView({ block: 'nearest' });
      }}
      className="panel plan-object"
      open={isOpen}
    >
      {/* The address names the object that was opened last: a link shows exactly that. */}
      <summary className="plan-object-head" onClick={() => onOpen(object.object)}>
        {head}
        <span className="muted small">{fields.length === 1 ? '1 field' : `${fields.length} fields`}</span>
      </summary>
      <div className="plan-fields">
        {object.reason && <p className="muted">{object.reason}</p>}
        {fields.map((each) => (
          <FieldDiff key={each.path} field={each} mode={mode} />
        ))}
        {object.omitted > 0 && <p className="muted">{`${object.omitted} more fields differ`}</p>}
      </div>
    </details>
  );
}
