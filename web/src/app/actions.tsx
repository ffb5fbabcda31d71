/** What may be done next: buttons that say what will happen before it does. */

import { useQueryClient } from '@tanstack/react-query';
import { useId, useRef, useState } from 'react';

import { post, Problem } from '../api/client';
import type { Accepted, Action } from '../api/types';
import { Button } from '../design/button';
import { Command } from '../design/command';
import { Dialog } from '../design/dialog';
import { toast } from '../design/toasts';
import { actionTitle } from './action-words';
import './actions.css';

/** Buttons for `actions`, in their order; each asks before anything happens. */
export function ActionButtons({
  actions,
  primary = '',
}: {
  actions: readonly Action[];
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
      {asked && <ActionDialog action={asked} onClose={() => setAsked(null)} />}
    </>
  );
}

/** The body of a request: what the server said to send, and the reason. */
export function bodyOf(action: Action, reason: string): Record<string, unknown> {
  const said = reason.trim();
  return action.reasonField && said ? { ...action.body, [action.reasonField]: said } : action.body;
}

/** Asks whether to do it; what was typed stays when the server refuses. */
export function ActionDialog({ action, onClose }: { action: Action; onClose: () => void }) {
  const client = useQueryClient();
  const [reason, setReason] = useState('');
  const [error, setError] = useState<Problem | null>(null);
  const [isSending, setSending] = useState(false);
  // One wish, one key: pressed twice, or sent again after a break, it is carried out once.
  const key = useRef(crypto.randomUUID());
  const isUnderWay = useRef(false);
  const id = useId();
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

  return (
    <Dialog title={actionTitle(action)} onClose={onClose}>
      <p className="consequence">{action.consequence}</p>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
      >
        {action.reasonField && (
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
          <Button
            type="submit"
            kind={action.isDestructive ? 'danger' : 'primary'}
            aria-busy={isSending}
            disabledReason={isMissing ? 'a reason is needed' : isSending ? 'it is being sent' : undefined}
            onClick={(event) => {
              event.preventDefault();
              void send();
            }}
          >
            {isSending ? 'Sending…' : actionTitle(action)}
          </Button>
          <Button kind="quiet" onClick={onClose}>
            Leave it
          </Button>
        </div>
      </form>
      {action.command && (
        <div>
          <h3>The same on the command line</h3>
          <Command text={action.command} />
        </div>
      )}
    </Dialog>
  );
}
