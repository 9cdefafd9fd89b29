import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
} from '@tanstack/react-router';
import { Failure, NotFound } from './frame/failure.tsx';
import { Frame } from './frame/frame.tsx';
import { AuditPage } from './pages/audit/audit-page.tsx';
import { readAuditSearch } from './pages/audit/search.ts';
import { BalancersPage } from './pages/balancers/balancers-page.tsx';
import { CasePage } from './pages/cases/case-page.tsx';
import { CasesPage } from './pages/cases/cases-page.tsx';
import { DevicePage } from './pages/device/device-page.tsx';
import { DaemonsPage } from './pages/daemons/daemons-page.tsx';
import { FleetPage } from './pages/fleet/fleet-page.tsx';
import { GuardPage } from './pages/guard/guard-page.tsx';
import { PlanPage } from './pages/plan/plan-page.tsx';
import { MachinePage } from './pages/machine/machine-page.tsx';
import { MachinesPage } from './pages/machines/machines-page.tsx';
import { ProviderPage } from './pages/providers/provider-page.tsx';
import { ProvidersPage } from './pages/providers/providers-page.tsx';
import { readListSearch } from './pages/machines/search.ts';
import { SettingsPage } from './pages/settings/settings-page.tsx';

const rootRoute = createRootRoute({ component: Frame, notFoundComponent: NotFound });
const getParentRoute = () => rootRoute;

const routeTree = rootRoute.addChildren([
  createRoute({ getParentRoute, path: '/', component: FleetPage }),
  createRoute({
    ...{ getParentRoute, path: '/machines', component: MachinesPage },
    validateSearch: readListSearch,
  }),
  createRoute({ getParentRoute, path: '/machines/$provider/$slot', component: MachinePage }),
  createRoute({ getParentRoute, path: '/providers', component: ProvidersPage }),
  createRoute({ getParentRoute, path: '/providers/$provider', component: ProviderPage }),
  createRoute({ getParentRoute, path: '/guard', component: GuardPage }),
  createRoute({ getParentRoute, path: '/plan', component: PlanPage }),
  createRoute({ getParentRoute, path: '/cases', component: CasesPage }),
  createRoute({ getParentRoute, path: '/cases/$id', component: CasePage }),
  createRoute({ getParentRoute, path: '/daemons', component: DaemonsPage }),
  createRoute({
    ...{ getParentRoute, path: '/audit', component: AuditPage },
    validateSearch: readAuditSearch,
  }),
  createRoute({ getParentRoute, path: '/settings', component: SettingsPage }),
  createRoute({ getParentRoute, path: '/device', component: DevicePage }),
  createRoute({ getParentRoute, path: '/balancers', component: BalancersPage }),
  createRoute({
    ...{ getParentRoute, path: '/inspector' },
    // The drawings of the inspector load on demand, because few people open it.
    component: lazyRouteComponent(
      () => import('./pages/inspector/inspector-page.tsx'),
      'InspectorPage',
    ),
    validateSearch: ({ slot }): { slot?: string } => (typeof slot === 'string' ? { slot } : {}),
  }),
]);

/** Writes values into the address as they were typed. */
const parseSearch = (text: string): Record<string, string> =>
  Object.fromEntries(new URLSearchParams(text));
function stringifySearch(search: Record<string, unknown>): string {
  const told = Object.entries(search).filter(([, value]) => typeof value === 'string' && value);
  const params = new URLSearchParams(told as [string, string][]).toString();
  return params === '' ? '' : `?${params.replaceAll('%3A', ':').replaceAll('%2C', ',')}`;
}

export const router = createRouter({
  routeTree,
  defaultErrorComponent: Failure,
  defaultPreload: false,
  parseSearch,
  stringifySearch,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
