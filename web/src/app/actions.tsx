/** What may be done next: buttons that say what will happen before it does. */

import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useId, useRef, useState, type ReactNode } from 'react';

import { post, Problem } from '../api/client';
import type { Accepted, Action } from '../api/types';
import { Button } from '../design/button';
import { Command } from '../design/command';
import { Dialog } from '../design/dialog';
import { toast } from '../design/toasts';
import { actionTitle } from './action-words';
import { changeOf, sameWish, standingOf, type Standing } from './followed-action';
import './actions.css';

/** Buttons for `actions`, in their order; each asks before anything happens. */
export function ActionButtons({
  actions,
  all = actions,
  primary = '',
}: {
  actions: readonly Action[];
  /** Where one is looked for that is asked about and has no button here any more. */
  all?: readonly Action[];
  /** Verb of the one that stands out. */
  primary?: string;
}) {
  const [asked, setAsked] = useState<Action | null>(null);
  return (
    <>
      {actions.map((action) => (
        <Button
          key={`${action.verb} ${action.path} ${JSON.stringify(action.body)}`}
          kind={action.isDestructive ? 'danger' : action.verb === primary ? 'primary' : 'plain'}
          disabledReason={action.enabled ? undefined : action.disabledReason || 'not possible now'}
          data-verb={action.verb}
          onClick={() => setAsked(action)}
        >
          {actionTitle(action)}
        </Button>
      ))}
      {asked && (
        <ActionDialog action={asked} now={sameWish(all, asked)} onClose={() => setAsked(null)} />
      )}
    </>
  );
}

/** The body of a request: what the server said to send, and the reason. */
export function bodyOf(action: Action, reason: string): Record<string, unknown> {
  const said = reason.trim();
  return action.reasonField && said ? { ...action.body, [action.reasonField]: said } : action.body;
}

/**
 * Asks whether to do it; what was typed stays when the server refuses.
 *
 * It follows what happens meanwhile: where another thing would be confirmed than the one that was
 * read, that is said first, and what is over cannot be sent.
 */
export function ActionDialog({
  action: opened,
  now = opened,
  onClose,
  children,
}: {
  /** As it was when somebody asked for it. */
  action: Action;
  /** As it is; null: it is not offered any more. Left out: nobody knows better. */
  now?: Action | null;
  onClose: () => void;
  /** More about what would happen. */
  children?: ReactNode;
}) {
  const client = useQueryClient();
  const [read, setRead] = useState(opened);
  const [reason, setReason] = useState('');
  const [error, setError] = useState<Problem | null>(null);
  const [isSending, setSending] = useState(false);
  // One wish, one key: pressed twice, or sent again after a break, it is carried out once.
  const key = useRef(crypto.randomUUID());
  const isUnderWay = useRef(false);
  const id = useId();
  useEffect(() => {
    // What the button knew may be some seconds old: what is asked about is how things are now.
    void client.invalidateQueries({ predicate: ({ queryKey: [path] }) => String(path).endsWith('/actions') });
  }, [client]);
  // While it is sent, what changes is its own doing.
  const standing: Standing = isSending ? { kind: 'same', action: read } : standingOf(read, now);
  const action = standing.kind === 'same' ? standing.action : read;
  const isMissing = action.needsReason && reason.trim() === '';

  const send = async () => {
    if (isUnderWay.current || isMissing) return;
    isUnderWay.current = true;
    setSending(true);
    setError(null);
    try {
      const accepted = await post<Accepted>(action.path, bodyOf(action, reason), key.current);
      toast('good', [actionTitle(action), accepted.reason].filter(Boolean).join(': '));
      onClose();
    } catch (problem) {
      setError(problem instanceof Problem ? problem : new Problem(0, String(problem)));
      // Refused as it is: what is asked next is another wish.
      key.current = crypto.randomUUID();
    } finally {
      isUnderWay.current = false;
      setSending(false);
      void client.invalidateQueries();
    }
  };
  const press = () => {
    if (standing.kind === 'same') void send();
    if (standing.kind !== 'changed') return;
    setRead(standing.action);
    setError(null);
    key.current = crypto.randomUUID();
  };
  const why =
    standing.kind === 'over' ? standing.why : isMissing && standing.kind === 'same' ? 'a reason is needed' : undefined;

  return (
    <Dialog title={actionTitle(action)} onClose={onClose}>
      <p className={standing.kind === 'same' ? 'consequence' : 'consequence muted'}>{action.consequence}</p>
      {standing.kind === 'changed' && (
        <div role="alert" className="action-changed">
          This has changed meanwhile: {changeOf(read, standing.action)}
        </div>
      )}
      {standing.kind === 'over' && !error && (
        <div role="alert" className="action-changed">
          This is not possible any more: {standing.why}
        </div>
      )}
      {standing.kind === 'same' && children}
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          press();
        }}
      >
        {action.reasonField && standing.kind !== 'over' && (
          <div className="stack">
            <label htmlFor={id}>{action.needsReason ? 'Reason' : 'Reason (optional)'}</label>
            <textarea
              id={id}
              rows={2}
              maxLength={2000}
              required={action.needsReason}
              value={reason}
              onChange={(event) => setReason(event.target.value)}
            />
            <span className="muted small">It is kept in the audit, with your name.</span>
          </div>
        )}
        {error && (
          <div role="alert" className="action-error">
            <div>{error.message}</div>
            {error.hint && <div className="muted small">{error.hint}</div>}
          </div>
        )}
        <div className="row wrap">
          {/* One button whatever has changed, so that the focus stays where it was. */}
          <Button
            type="submit"
            kind={standing.kind === 'changed' ? 'plain' : action.isDestructive ? 'danger' : 'primary'}
            aria-busy={isSending}
            disabledReason={isSending ? 'it is being sent' : why}
            onClick={(event) => {
              event.preventDefault();
              press();
            }}
          >
            {isSending ? 'Sending…' : standing.kind === 'changed' ? 'Go on with this' : actionTitle(action)}
          </Button>
          <Button kind={standing.kind === 'over' ? 'primary' : 'quiet'} onClick={onClose}>
            {standing.kind === 'over' ? 'Close' : 'Leave it'}
          </Button>
        </div>
      </form>
      {action.command && standing.kind === 'same' && (
        <div>
          <h3>The same on the command line</h3>
          <Command text={action.command} />
        </div>
      )}
    </Dialog>
  );
}
