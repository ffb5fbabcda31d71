import { useQuery } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useMemo, useState, type CSSProperties } from 'react';

import { reading } from '../api/queries';
import type { Actions } from '../api/types';
import { useChangeSearch } from '../app/search-params';
import { useShortcuts } from '../app/shortcuts';
import { exact } from '../design/clock';
import { Failed, Loading } from '../design/placeholders';
import { useIsPrinting } from '../design/printing';
import { CellDrawer } from './cell-drawer';
import { Grid, gridHeight, type CellDensity } from './grid';
import { asOf, columnKey, foldedAtFirst, linesOf, matrixOf, type Cell, type Grouping, type Matrix, type Row } from './matrix';
import { RunHead } from './run-head';
import { TimeLineView } from './time-line';
import { runPath, useRun, type Followed } from './use-run';
import './run.css';

const route = getRouteApi('/runs/$run');
/** On paper nothing can be unfolded. */
const NONE_FOLDED: ReadonlySet<string> = new Set();

/** One release over its clusters, stage by stage, live. */
export function RunPage() {
  const { run: id } = route.useParams();
  // Another run is another page: nothing of this one stays.
  return <RunOf key={id} id={id} />;
}

function RunOf({ id }: { id: string }) {
  const followed = useRun(id);
  if (!followed.run) {
    return (
      <div className="page">
        <h1 className="spoken">Run {id}</h1>
        {followed.error ? <Failed error={followed.error} onRetry={followed.retry} /> : <Loading lines={10} />}
      </div>
    );
  }
  return <RunScreen id={id} run={followed.run} events={followed.events} error={followed.error} />;
}

type Shown = Pick<Followed, 'events' | 'error'> & { id: string; run: NonNullable<Followed['run']> };

function RunScreen({ id, run, events, error }: Shown) {
  const search = route.useSearch();
  const change = useChangeSearch();
  const navigate = useNavigate();
  const [folded, setFolded] = useState<ReadonlySet<string>>(() => foldedAtFirst(run, search.cluster ?? ''));
  const [pointed, setPointed] = useState<number | null>(null);
  const isLive = run.summary.finished === null;
  const { data: actions, error: actionsError } = useQuery({
    ...reading<Actions>(`${runPath(id)}/actions`),
    refetchInterval: isLive ? 10_000 : false,
  });

  const grouping: Grouping = search.group === 'trouble' ? 'trouble' : 'wave';
  const density = densityOf(search.density);
  const shownRun = useMemo(() => (pointed === null ? run : asOf(run, pointed)), [run, pointed]);
  const matrix = useMemo(() => matrixOf(shownRun, grouping), [shownRun, grouping]);
  const isPrinting = useIsPrinting();
  const lines = useMemo(
    () => linesOf(matrix, isPrinting ? NONE_FOLDED : folded, search.find ?? ''),
    [matrix, isPrinting, folded, search.find],
  );
  const cell = cellAt(matrix, search.stage ?? '', search.cluster ?? '');
  const isOpen = cell !== null;

  const close = () => change({ stage: '', cluster: '', tab: '' });
  useShortcuts([
    { key: 'l', title: 'Log of the open cell', run: () => isOpen && change({ tab: 'log' }, { replace: true }) },
    {
      key: 'd',
      title: 'Diff of the commit',
      run: () =>
        void navigate({
          to: '/applications/$application/plan',
          params: { application: run.summary.application },
          search: { commit: run.summary.commit },
        }),
    },
    ...(isOpen ? [{ key: 'escape', title: 'Close the cell', run: close }] : []),
  ]);
  const open = (_: Row, opened: Cell, { replace }: { replace: boolean }) =>
    change({ stage: opened.stage.id, cluster: opened.task.target }, { replace: replace || isOpen });

  return (
    <div className={isOpen ? 'run-page run-page-open' : 'run-page'}>
      <div className="run-main">
        <RunHead run={run} actions={actions?.items ?? []} cluster={search.cluster ?? ''} />
        {(error ?? actionsError) && (
          <p className="small muted" role="status">
            {error ? `This may be old: ${error.message}` : `What may be done is not known: ${actionsError?.message ?? ''}`}
          </p>
        )}
        <Toolbar search={search} change={change} density={density} grouping={grouping} hasWaves={run.waves.length > 0} />
        {pointed !== null && (
          <p className="run-then small" role="status">
            As it was at {exact(pointed)}
          </p>
        )}
        <div className="run-matrix" style={{ '--matrix-height': `${gridHeight(lines, density)}px` } as CSSProperties}>
          <Grid
            lines={lines}
            columns={matrix.columns}
            density={density}
            clusters={matrix.clusters}
            open={cell ? { cluster: cell.task.target, column: cell.column.key } : null}
            onOpen={open}
            folded={folded}
            onFold={(name) => setFolded(toggled(folded, name))}
          />
        </div>
        <TimeLineView run={run} at={pointed} onAt={setPointed} />
      </div>
      {cell && (
        <CellDrawer
          run={run}
          cell={cell}
          actions={actions?.items ?? []}
          events={events}
          tab={search.tab ?? 'log'}
          onTab={(tab) => change({ tab }, { replace: true })}
          onClose={close}
        />
      )}
    </div>
  );
}

function Toolbar({
  search,
  change,
  density,
  grouping,
  hasWaves,
}: {
  search: { find?: string };
  change: ReturnType<typeof useChangeSearch>;
  density: CellDensity;
  grouping: Grouping;
  hasWaves: boolean;
}) {
  return (
    <div className="row wrap no-print run-tools">
      <input
        type="search"
        data-search
        aria-label="Find clusters"
        placeholder="Find clusters  /"
        value={search.find ?? ''}
        onChange={(event) => change({ find: event.target.value }, { replace: true })}
      />
      <Choice
        label="Cells"
        chosen={density}
        options={[
          ['shape', 'Shapes'],
          ['figure', 'Figures'],
          ['sentence', 'Sentences'],
        ]}
        onChoose={(value) => change({ density: value === 'figure' ? '' : value }, { replace: true })}
      />
      {hasWaves && (
        <Choice
          label="Rows"
          chosen={grouping}
          options={[
            ['wave', 'By wave'],
            ['trouble', 'Trouble first'],
          ]}
          onChoose={(value) => change({ group: value === 'wave' ? '' : value }, { replace: true })}
        />
      )}
    </div>
  );
}

function Choice({
  label,
  chosen,
  options,
  onChoose,
}: {
  label: string;
  chosen: string;
  options: readonly (readonly [string, string])[];
  onChoose: (value: string) => void;
}) {
  return (
    <div role="group" aria-label={label} className="segmented">
      {options.map(([value, title]) => (
        <button key={value} type="button" aria-pressed={value === chosen} className="segment" onClick={() => onChoose(value)}>
          {title}
        </button>
      ))}
    </div>
  );
}

function densityOf(said: string | undefined): CellDensity {
  return said === 'shape' || said === 'sentence' ? said : 'figure';
}

function cellAt(matrix: Matrix, stage: string, cluster: string): Cell | null {
  if (cluster === '') return null;
  for (const group of matrix.groups) {
    const row = group.rows.find((each) => each.cluster === cluster);
    if (row) {
      // A link may name a cluster alone: the cell that says most about it.
      return row.cells.find((cell) => cell?.column.key === columnKey(stage)) ?? row.cell;
    }
  }
  return null;
}

function toggled(names: ReadonlySet<string>, name: string): ReadonlySet<string> {
  const after = new Set(names);
  if (!after.delete(name)) after.add(name);
  return after;
}
