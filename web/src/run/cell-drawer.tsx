import { lazy, Suspense } from 'react';

import type { Action, Run } from '../api/types';
import { ActionButtons } from '../app/actions';
import { Drawer } from '../design/drawer';
import { orReload } from '../design/late-part';
import { Loading } from '../design/placeholders';
import { StateWord } from '../design/state-shape';
import { Tabs } from '../design/tabs';
import { Elapsed, Time } from '../design/time';
import { EventsView } from './events-view';
import type { RunEvent } from './events';
import { LogView } from './log-view';
import { progressOf, sentenceOf, type Cell } from './matrix';
import { ObjectsView } from './objects-view';
import { TrafficView } from './traffic-view';
import './cell-drawer.css';

// Charts are fetched when somebody looks at some.
const AnalysisView = lazy(() => orReload(import('./analysis-view'), 'default'));

/** Those of a run's actions that are about one cell: of its cluster alone, or of its stage. */
export function actionsOfCell(actions: readonly Action[], cell: Cell): Action[] {
  return actions.filter(({ clusters, stage }) => {
    const isOfCluster = clusters.length === 0 || clusters.includes(cell.task.target);
    return isOfCluster && (clusters.length === 1 || stage === cell.stage.id);
  });
}

/** One stage on one cluster, beside the matrix. */
export function CellDrawer({
  run,
  cell,
  actions,
  events,
  tab,
  onTab,
  onClose,
}: {
  run: Run;
  cell: Cell;
  actions: readonly Action[];
  events: readonly RunEvent[];
  tab: string;
  onTab: (tab: string) => void;
  onClose: () => void;
}) {
  const { stage, task } = cell;
  const id = run.summary.id;
  const isLive = run.summary.finished === null;
  const progress = progressOf(task);
  const sentence = sentenceOf(cell);
  const mine = actionsOfCell(actions, cell);
  return (
    <Drawer
      onClose={onClose}
      title={
        <>
          {task.target} <span className="muted">· {cell.column.title}</span>
        </>
      }
    >
      <div className="stack">
        <div className="row wrap">
          <StateWord status={cell.status} {...(progress === undefined ? {} : { progress })} />
          {task.status === 'running' && task.total > 0 && (
            <span>
              {task.ready}/{task.total}
            </span>
          )}
          <span className="muted">
            <Elapsed from={task.started} until={task.finished} />
          </span>
          {task.attempt > 1 && <span className="muted">attempt {task.attempt}</span>}
          {task.finished === null && task.deadline && (
            <span className="muted small">
              times out <Time at={task.deadline} />
            </span>
          )}
        </div>
        {sentence && <p className="cell-reason">{sentence}</p>}
        {/* Also without a button: a question that is open says what became of it. */}
        <div className="row wrap cell-actions">
          <ActionButtons actions={mine} all={actions} />
        </div>
      </div>
      <Tabs
        label="Details of the cell"
        chosen={tab}
        onChoose={onTab}
        items={[
          {
            name: 'log',
            title: 'Log',
            content: <LogView key={`${stage.id} ${task.target}`} run={id} stage={stage.id} cluster={task.target} />,
          },
          {
            name: 'objects',
            title: 'Objects',
            content: <ObjectsView application={run.summary.application} task={task} />,
          },
          {
            name: 'events',
            title: 'Events',
            content: <EventsView run={id} stage={stage.id} cluster={task.target} live={events} />,
          },
          {
            name: 'analysis',
            title: 'Analysis',
            content: (
              <Suspense fallback={<Loading lines={6} />}>
                <AnalysisView run={id} cluster={task.target} isLive={isLive} />
              </Suspense>
            ),
          },
          {
            name: 'traffic',
            title: 'Traffic',
            content: <TrafficView run={id} cluster={task.target} isLive={isLive} />,
          },
        ]}
      />
    </Drawer>
  );
}
