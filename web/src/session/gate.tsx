import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState, type ReactNode } from 'react';

import { onUnauthenticated } from '../api/client';
import { Dialog } from '../design/dialog';
import { Failed, Loading } from '../design/placeholders';
import { LoginForm } from './login-form';
import { loginProblem, LOGIN_PATH, pageAfterLogin, sessionQuery } from './session';
import './login.css';

/** Shows the screens to whoever is logged in; a session that ends meanwhile leaves the page as it is. */
export function SessionGate({ children }: { children: ReactNode }) {
  const client = useQueryClient();
  const { data: session, error, refetch } = useQuery(sessionQuery);
  const [wasIn, setWasIn] = useState(false);
  const [isExpired, setExpired] = useState(false);
  const next = pageAfterLogin(location);
  const problem =
    location.pathname === LOGIN_PATH ? loginProblem(new URLSearchParams(location.search).get('problem') ?? '') : '';

  useEffect(() => {
    if (session?.authenticated) {
      setWasIn(true);
      setExpired(false);
    }
  }, [session]);
  useEffect(
    () =>
      onUnauthenticated(() => {
        setExpired(true);
        void client.invalidateQueries(sessionQuery);
      }),
    [client],
  );

  if (!session) {
    return (
      <main className="login">
        {error ? <Failed error={error} onRetry={() => void refetch()} /> : <Loading label="Connecting" />}
      </main>
    );
  }
  if (!session.authenticated && !wasIn) {
    return (
      <main className="login">
        <div className="panel login-panel stack">
          <h1>Volary</h1>
          {problem && (
            <div role="alert" className="action-error">
              {problem}
            </div>
          )}
          <LoginForm session={session} next={next} onDone={() => undefined} />
          <p className="muted small">{session.version}</p>
        </div>
      </main>
    );
  }
  return (
    <>
      {children}
      {isExpired && !session.authenticated && (
        <Dialog title="Your session has ended" onClose={() => setExpired(false)}>
          <p>Nothing of what you typed is lost. Log in, and do again what was refused.</p>
          <LoginForm session={session} next={next} onDone={() => setExpired(false)} />
        </Dialog>
      )}
    </>
  );
}
