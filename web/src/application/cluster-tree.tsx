import { useSearch } from '@tanstack/react-router';
import { useRef, useState, type KeyboardEvent } from 'react';

import type { LiveCluster, LiveNode } from '../api/types';
import { useChangeSearch } from '../app/search-params';
import { Button } from '../design/button';
import { Commit } from '../design/commit';
import { StateShape, StateWord } from '../design/state-shape';
import { stateOf } from '../design/state';
import { useHeldOrder } from '../design/held-order';
import { Time } from '../design/time';
import { writeObject } from './object-address';
import { branchesOf, visibleRows, type TreeRow } from './tree-model';

/** Rows that are drawn; thousands are shown when somebody asks for them. */
const MOST_ROWS = 250;

/** The objects of one cluster as a tree: arrows move and open, Enter shows the object. */
export function ClusterTree({ cluster }: { cluster: LiveCluster }) {
  const search = useSearch({ from: '/applications/$application' });
  const change = useChangeSearch();
  const [toggled, setToggled] = useState<ReadonlyMap<string, boolean>>(new Map());
  const [most, setMost] = useState(MOST_ROWS);
  const [focused, setFocused] = useState('');
  const list = useRef<HTMLUListElement>(null);
  const { items: branches, hold } = useHeldOrder(branchesOf(cluster.nodes), (branch) => branch.key);
  const rows = visibleRows(branches, toggled);
  const shown = rows.slice(0, most);
  const current = shown.find((row) => row.node.uid === focused) ?? shown[0];

  const toggle = (row: TreeRow, isOpen: boolean) => setToggled(new Map(toggled).set(row.node.uid, isOpen));
  const open = (node: LiveNode) => change({ object: writeObject(node), view: '' });
  const focus = (row: TreeRow | undefined) => {
    if (!row) return;
    setFocused(row.node.uid);
    const drawn = list.current?.querySelectorAll<HTMLElement>('[data-uid]') ?? [];
    [...drawn].find((element) => element.dataset['uid'] === row.node.uid)?.focus();
  };
  const move = (event: KeyboardEvent) => {
    const place = shown.findIndex((row) => row.node.uid === current?.node.uid);
    const row = shown[place];
    if (!row) return;
    const parent = shown.slice(0, place).findLast((each) => each.level < row.level);
    const steps: Record<string, () => void> = {
      ArrowDown: () => focus(shown[place + 1]),
      ArrowUp: () => focus(shown[place - 1]),
      Home: () => focus(shown[0]),
      End: () => focus(shown.at(-1)),
      ArrowRight: () => (row.isOpen === false ? toggle(row, true) : row.isOpen ? focus(shown[place + 1]) : undefined),
      ArrowLeft: () => (row.isOpen ? toggle(row, false) : focus(parent)),
      Enter: () => open(row.node),
    };
    const step = steps[event.key];
    if (!step) return;
    event.preventDefault();
    step();
  };

  return (
    <div {...hold}>
      <ul ref={list} role="tree" aria-label={`Objects in ${cluster.name}`} className="tree" onKeyDown={move}>
        {shown.map((row) => (
          <li
            key={row.node.uid}
            role="treeitem"
            data-uid={row.node.uid}
            aria-level={row.level}
            aria-expanded={row.isOpen}
            aria-selected={writeObject(row.node) === search.object}
            tabIndex={row.node.uid === current?.node.uid ? 0 : -1}
            className="tree-row"
            style={{ paddingInlineStart: 8 + (row.level - 1) * 20 }}
            onFocus={() => setFocused(row.node.uid)}
          >
            <Twist row={row} onToggle={() => toggle(row, !row.isOpen)} />
            {/* The keyboard opens it with Enter, which the tree takes. */}
            {/* eslint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/no-static-element-interactions */}
            <div className="tree-node" onClick={() => open(row.node)}>
              <NodeLine node={row.node} />
            </div>
          </li>
        ))}
      </ul>
      {rows.length > most && (
        <Button kind="quiet" onClick={() => setMost(most + MOST_ROWS)}>
          {`Show more (${rows.length - most} objects)`}
        </Button>
      )}
    </div>
  );
}

function Twist({ row, onToggle }: { row: TreeRow; onToggle: () => void }) {
  if (row.isOpen === undefined) return <span className="tree-twist" />;
  return (
    // The tree's arrow keys do the same; a second stop for each row would be in the way.
    <button
      type="button"
      className="tree-twist"
      tabIndex={-1}
      aria-hidden="true"
      onClick={onToggle}
    >
      {row.isOpen ? '▾' : '▸'}
    </button>
  );
}

function NodeLine({ node }: { node: LiveNode }) {
  const isWell = node.health.status === 'healthy';
  return (
    <>
      <div className="row wrap tree-line">
        <StateShape status={node.health.status} label={stateOf(node.health.status).word} />
        <span className="muted tree-kind">{node.kind}</span>
        <span className="tree-name">{node.name}</span>
        {node.variant && node.variant !== 'primary' && <span className="badge">{node.variant}</span>}
        {node.total > 0 && <span>{`${node.ready}/${node.total} ready`}</span>}
        {node.restarts > 0 && (
          <span className="tone-text-wait">{`${node.restarts} ${node.restarts === 1 ? 'restart' : 'restarts'}`}</span>
        )}
        {node.drift && node.drift !== 'inSync' && <StateWord status={node.drift} />}
        {node.deleted && (
          <span className="tone-text-wait">
            deleted <Time at={node.deleted} />
          </span>
        )}
        <span className="grow" />
        {node.commit && <Commit commit={node.commit} />}
        {node.node && <span className="muted small">{node.node}</span>}
        <span className="muted small tree-age">
          <Time at={node.created} />
        </span>
      </div>
      {!isWell && node.health.reason && <div className="tree-reason">{node.health.reason}</div>}
      {node.events.map((event) => (
        <div key={`${event.reason} ${event.message}`} className="tree-event">
          <b>{event.reason}</b> {event.message}{' '}
          <span className="muted">
            {event.count > 1 && `× ${event.count}, `}
            <Time at={event.lastSeen} />
          </span>
        </div>
      ))}
    </>
  );
}
