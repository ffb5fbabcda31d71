import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';

import { queryClient } from './api/queries';
import { startPreferences } from './app/preferences';
import { makeRouter } from './app/router';
import './design/tokens.css';
import './design/base.css';
import { SessionGate } from './session/gate';

startPreferences();
const root = document.getElementById('root');
if (!root) throw new Error('index.html has no element for the screens');
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queryClient()}>
      <SessionGate>
        <RouterProvider router={makeRouter()} />
      </SessionGate>
    </QueryClientProvider>
  </StrictMode>,
);
