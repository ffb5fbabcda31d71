import { useQueryClient } from '@tanstack/react-query';
import { useId, useState } from 'react';

import { Problem, reportAuthenticated } from '../api/client';
import { Button } from '../design/button';
import { logInWithToken, oidcAddress, sessionQuery, type Session } from './session';
import './login.css';

/** The ways to log in that the server offers. */
export function LoginForm({
  session,
  next,
  onDone,
}: {
  session: Session;
  next: string;
  onDone: () => void;
}) {
  const client = useQueryClient();
  const [token, setToken] = useState('');
  const [error, setError] = useState<Problem | null>(null);
  const [isSending, setSending] = useState(false);
  const id = useId();
  const send = async () => {
    if (isSending || token.trim() === '') return;
    setSending(true);
    setError(null);
    try {
      await logInWithToken(token.trim());
      setToken('');
      await client.invalidateQueries(sessionQuery);
      reportAuthenticated();
      onDone();
      void client.invalidateQueries();
    } catch (problem) {
      setError(problem instanceof Problem ? problem : new Problem(0, String(problem)));
    } finally {
      setSending(false);
    }
  };
  return (
    <div className="stack">
      {session.methods.includes('oidc') && (
        <a className="button button-primary login-wide" href={oidcAddress(next)}>
          Log in with your organization
        </a>
      )}
      {session.methods.includes('token') && (
        <form
          className="stack"
          onSubmit={(event) => {
            event.preventDefault();
            void send();
          }}
        >
          <label htmlFor={id}>API token</label>
          <input
            id={id}
            type="password"
            autoComplete="current-password"
            spellCheck={false}
            value={token}
            onChange={(event) => setToken(event.target.value)}
          />
          <span className="muted small">
            It is sent once and not kept in this browser. <code>volary token create</code> makes one.
          </span>
          {error && (
            <div role="alert" className="action-error">
              <div>{error.message}</div>
              {error.hint && <div className="muted small">{error.hint}</div>}
            </div>
          )}
          <Button type="submit" aria-busy={isSending} className="login-wide" onClick={(event) => {
            event.preventDefault();
            void send();
          }}>
            {isSending ? 'Logging in…' : 'Log in with the token'}
          </Button>
        </form>
      )}
      {session.methods.length === 0 && (
        <p>
          Nobody can log in here yet. The server&apos;s settings need <code>url</code>, the https address that people open, and{' '}
          <code>auth.oidc.clientId</code> for logins at your organization.
        </p>
      )}
    </div>
  );
}
