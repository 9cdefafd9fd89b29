import { ADMIN_PATH } from '../kit/admin.ts';
import { listen } from '../kit/listen.ts';
import { type EquinixEmulator, type EquinixEmulatorOptions } from './options.ts';
import { accountRoutes } from './api/account-routes.ts';
import { createApi } from './api/api.ts';
import { capacityRoutes } from './api/capacity-routes.ts';
import { accountOf, createControls, reset } from './controls.ts';
import { createDeviceMachines } from './lifecycle/device-machine.ts';
import { deviceRoutes } from './api/device-routes.ts';
import { layFoundation } from './foundation.ts';
import { createJournal } from '../kit/journal.ts';
import { eventRoutes } from './api/event-routes.ts';
import { keyRoutes } from './api/key-routes.ts';
import { createLifecycle } from './lifecycle/lifecycle.ts';
import { createMachines } from './lifecycle/machines.ts';
import { createPipeline } from './http/pipeline.ts';
import { reservationRoutes } from './api/reservation-routes.ts';
import { createServer } from './server.ts';

const ROUTES = [
  deviceRoutes,
  reservationRoutes,
  keyRoutes,
  accountRoutes,
  eventRoutes,
  capacityRoutes,
];

/**
 * Starts an emulator of the Equinix Metal API.
 * @throws {WorldError} when the world file cannot be used. @throws {StateFileError} when the state
 * file is not one. @throws {ListenError} when the address cannot be listened on.
 */
export async function startEquinixEmulator(
  options: EquinixEmulatorOptions,
): Promise<EquinixEmulator> {
  const foundation = await layFoundation(options);
  const { core, file, events } = foundation;
  const basePath = normalPath(options.basePath ?? '/metal/v1');
  const journal = createJournal(core.state);
  const machines = createMachines(options.hooks, core.log);
  const lifecycle = createLifecycle(core, createDeviceMachines(core, machines));
  const api = createApi(core, lifecycle);
  const pipeline = createPipeline({ ...foundation, api, journal, basePath, save: file.save });
  const routes = ROUTES.flatMap((of) => of(api));
  const paths = routes.map(({ path }) => path);
  const inside = { foundation, lifecycle, machines, journal, routes: paths };
  const controls = createControls(inside);
  let account = accountOf(core.state);
  const app = createServer({
    basePath,
    routes,
    pipeline,
    admin: {
      core,
      controls,
      isManual: foundation.manual !== undefined,
      reset: async (world) => (account = await reset(inside, world)),
      save: file.save,
    },
    log: core.log,
    host: options.listen.host,
  });
  const origin = await listen(app, options.listen);
  core.scheduler.start(lifecycle.run);
  lifecycle.resume();
  await file.save();

  const close = async () => {
    core.scheduler.stop();
    machines.stop();
    pipeline.close();
    await app.close();
    await file.close();
    events.removeAllListeners();
  };
  let closing: Promise<void> | undefined;
  return {
    url: `${origin}${basePath}`,
    adminUrl: `${origin}${ADMIN_PATH}`,
    ...controls,
    get tokens() {
      return account.tokens;
    },
    get projectId() {
      return account.projectId;
    },
    get organizationId() {
      return account.organizationId;
    },
    close: () => (closing ??= close()),
  };
}

const normalPath = (path: string): string => {
  const inner = path.replaceAll(/^\/+|\/+$/g, '');
  return inner === '' ? '' : `/${inner}`;
};
