import type { ObjectDiff, PlannedObject } from '../api/types';
import { DiffView, type DiffMode } from '../design/diff/diff-view';
import { FieldDiff } from '../design/diff/field-diff';
import { readUnified } from '../design/diff/unified';
import { Note } from '../design/note';
import { Empty } from '../design/placeholders';
import { byKind, fieldsOf, nameOf, type ClusterGroup } from './plan-model';

const SIGNS: Readonly<Record<string, string>> = { created: '+', changed: '~', pruned: '−', kept: '=' };
/** Objects that are open from the beginning; a page of hundreds begins as a list. */
const MOST_OPEN = 12;

/** What one group of clusters would do, object by object. */
export function PlannedObjects({
  group: { planned, diffs, unreachable },
  mode,
  opened,
  onOpen,
}: {
  group: ClusterGroup;
  mode: DiffMode;
  /** The object that the address names; empty: none. */
  opened: string;
  onOpen: (object: string) => void;
}) {
  const notes = [
    ...unreachable,
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
            <PlannedObjectPanel
              key={object.object}
              object={object}
              diff={diffs.get(object.object) ?? null}
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

function PlannedObjectPanel({
  object,
  diff,
  mode,
  isOpen,
  isNamed,
  onOpen,
}: {
  object: PlannedObject;
  diff: ObjectDiff | null;
  mode: DiffMode;
  isOpen: boolean;
  isNamed: boolean;
  onOpen: (object: string) => void;
}) {
  const fields = fieldsOf(object);
  // Of what is created or goes there are no fields to compare, but the whole object.
  const lines = fields.length === 0 && diff ? readUnified(diff.diff) : [];
  const head = (
    <>
      <span className={`plan-sign plan-sign-${object.action}`} aria-hidden="true">
        {SIGNS[object.action] ?? '?'}
      </span>
      <span className="grow plan-object-name">
        {nameOf(object.object)} <span className="muted">{object.action}</span>
      </span>
    </>
  );
  if (fields.length + lines.length === 0)
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
        <span className="muted small">{sizeOf(fields.length, lines.length)}</span>
      </summary>
      <div className="plan-fields">
        {object.reason && <p className="muted">{object.reason}</p>}
        {fields.map((each) => (
          <FieldDiff key={each.path} field={each} mode={mode} />
        ))}
        {lines.length > 0 && <DiffView lines={lines} mode={mode} label={nameOf(object.object)} />}
        {lines.length > 0 && diff !== null && diff.omitted > 0 && <p className="muted">{`${diff.omitted} more lines`}</p>}
        {object.omitted > 0 && <p className="muted">{`${object.omitted} more fields differ`}</p>}
      </div>
    </details>
  );
}

function sizeOf(fields: number, lines: number): string {
  const [count, noun] = fields > 0 ? [fields, 'field'] : [lines, 'line'];
  return count === 1 ? `1 ${noun}` : `${count} ${noun}s`;
}
