import type { Core, Resource } from '../core.ts';
import { patchSettings, patchSystem, resetManager, resetSystem } from './changes.ts';
import { ejectMedia, insertMedia, patchMedia } from './media.ts';
import * as sessions from './sessions.ts';
import * as tasks from './tasks.ts';
import * as views from './views.ts';

const { ROOT } = views;
const { SESSIONS } = sessions;
const { TASKS, MONITORS } = tasks;

/** All that the service has, at the places of its profile. */
export function resourcesOf({ profile }: Pick<Core, 'profile'>): readonly Resource[] {
  const system = `${ROOT}/Systems/{system}`;
  const manager = `${ROOT}/Managers/{manager}`;
  const media = `${profile.mediaAt === 'Systems' ? system : manager}/VirtualMedia`;
  const device = `${media}/{media}`;
  const action = `${device}/Actions/VirtualMedia`;
  const devices: Resource[] =
    profile.mediaBy === 'patch'
      ? [{ path: device, GET: views.mediaView, PATCH: patchMedia }]
      : [
          { path: device, GET: views.mediaView },
          { path: `${action}.InsertMedia`, POST: insertMedia },
          { path: `${action}.EjectMedia`, POST: ejectMedia },
        ];
  const settings = { path: `${system}/SD`, GET: views.settingsView, PATCH: patchSettings };
  const actionInfo = { path: `${system}/ResetActionInfo`, GET: views.actionInfoView };
  return [
    { path: ROOT, open: ['GET'], GET: views.rootView },
    { path: `${ROOT}/Systems`, GET: views.systemsView },
    { path: system, GET: views.systemView, PATCH: patchSystem },
    { path: `${system}/Actions/ComputerSystem.Reset`, POST: resetSystem },
    ...(profile.resetsIn === 'actionInfo' ? [actionInfo] : []),
    ...(profile.bootInSettings ? [settings] : []),
    { path: `${ROOT}/Managers`, GET: views.managersView },
    { path: manager, GET: views.managerView },
    { path: `${manager}/Actions/Manager.Reset`, POST: resetManager },
    { path: media, GET: views.devicesView },
    ...devices,
    { path: `${ROOT}/SessionService`, GET: sessions.serviceView },
    { path: SESSIONS, open: ['POST'], GET: sessions.sessionsView, POST: sessions.login },
    { path: `${SESSIONS}/{session}`, GET: sessions.sessionView, DELETE: sessions.logout },
    { path: `${ROOT}/TaskService`, GET: tasks.serviceView },
    { path: TASKS, GET: tasks.tasksView },
    { path: `${TASKS}/{task}`, GET: tasks.taskView },
    { path: `${MONITORS}/{task}`, poll: tasks.monitor },
  ];
}
