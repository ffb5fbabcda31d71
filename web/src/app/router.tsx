/** The screens and their addresses; each is loaded when it is first opened. */

import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
  type ErrorComponentProps,
  type RouterHistory,
} from '@tanstack/react-router';

import { activitySearch } from '../activity/search';
import { applicationSearch } from '../application/search';
import { orReload } from '../design/late-part';
import { Empty, Failed, Loading } from '../design/placeholders';
import { fleetSearch } from '../fleet/search';
import { insightsSearch } from '../insights/search';
import { overviewSearch } from '../overview/search';
import { planSearch } from '../plan/search';
import { runSearch } from '../run/search';
import { LOGIN_PATH, pageAfterLogin } from '../session/session';
import { parseSearch, stringifySearch } from './search-params';
import { Shell } from './shell';

const root = createRootRoute({
  component: Shell,
  notFoundComponent: () => (
    <div className="page">
      <Empty title="There is no such page">
        <a href="/">To the overview</a>
      </Empty>
    </div>
  ),
});

const at = { getParentRoute: () => root } as const;

const overview = createRoute({
  ...at,
  path: '/',
  validateSearch: overviewSearch,
  component: lazyRouteComponent(() => orReload(import('../overview/page'), 'OverviewPage'), 'OverviewPage'),
});
const run = createRoute({
  ...at,
  path: '/runs/$run',
  validateSearch: runSearch,
  component: lazyRouteComponent(() => orReload(import('../run/page'), 'RunPage'), 'RunPage'),
});
const application = createRoute({
  ...at,
  path: '/applications/$application',
  validateSearch: applicationSearch,
  component: lazyRouteComponent(() => orReload(import('../application/page'), 'ApplicationPage'), 'ApplicationPage'),
});
const plan = createRoute({
  ...at,
  path: '/applications/$application/plan',
  validateSearch: planSearch,
  component: lazyRouteComponent(() => orReload(import('../plan/page'), 'PlanPage'), 'PlanPage'),
});
const fleet = createRoute({
  ...at,
  path: '/fleet',
  validateSearch: fleetSearch,
  component: lazyRouteComponent(() => orReload(import('../fleet/page'), 'FleetPage'), 'FleetPage'),
});
const activity = createRoute({
  ...at,
  path: '/activity',
  validateSearch: activitySearch,
  component: lazyRouteComponent(() => orReload(import('../activity/page'), 'ActivityPage'), 'ActivityPage'),
});
const insights = createRoute({
  ...at,
  path: '/insights',
  validateSearch: insightsSearch,
  component: lazyRouteComponent(() => orReload(import('../insights/page'), 'InsightsPage'), 'InsightsPage'),
});

// The gate asks to log in wherever that is needed; whoever gets through goes where they wanted to.
const login = createRoute({
  ...at,
  path: LOGIN_PATH,
  beforeLoad: ({ location }) => {
    throw redirect({ href: pageAfterLogin({ pathname: LOGIN_PATH, search: location.searchStr }), replace: true });
  },
});

export const routeTree = root.addChildren([
  overview,
  run,
  application,
  plan,
  fleet,
  activity,
  insights,
  login,
]);

function Broken({ error, reset }: ErrorComponentProps) {
  return (
    <div className="page">
      <Failed error={error} onRetry={reset} />
    </div>
  );
}

/** Make the router, on the browser's history unless another is given. */
export function makeRouter(history?: RouterHistory) {
  return createRouter({
    routeTree,
    parseSearch,
    stringifySearch,
    defaultPreload: 'intent',
    defaultErrorComponent: Broken,
    defaultPendingComponent: () => (
      <div className="page">
        <Loading lines={6} />
      </div>
    ),
    scrollRestoration: true,
    ...(history ? { history } : {}),
  });
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof makeRouter>;
  }
}
