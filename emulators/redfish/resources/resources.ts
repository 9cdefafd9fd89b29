import type { Call, Core, Resource } from '../core.ts';
import { patchSettings, patchSystem, resetManager, resetSystem } from './changes.ts';
import * as logs from './logs.ts';
import { ejectMedia, insertMedia, patchMedia } from './media.ts';
import * as sessions from './sessions.ts';
import { metadata, odataView } from './metadata.ts';
import * as tasks from './tasks.ts';
import * as views from './views.ts';

const { ROOT } = views;
const { SESSIONS } = sessions;

/** All that the service has, at the places of its profile. */
export function resourcesOf(core: Core): readonly Resource[] {
  const { profile } = core;
  const system = `${ROOT}/Systems/{system}`;
  const manager = `${ROOT}/Managers/{manager}`;
  const media = `${profile.mediaAt === 'Systems' ? system : manager}/VirtualMedia`;
  const device = `${media}/{media}`;
  return [
    { path: '/redfish', open: ['GET'], GET: () => ({ v1: `${ROOT}/` }) },
    { path: ROOT, open: ['GET'], GET: (call) => views.rootView(core, call) },
    { path: `${ROOT}/odata`, open: ['GET'], GET: (call) => odataView(core, call) },
    { path: `${ROOT}/$metadata`, open: ['GET'], document: () => metadata() },
    {
      path: `${ROOT}/Systems`,
      GET: (call) => {
        const paths = call.bmc.systems.map(({ id }) => views.systemPath(id));
        return views.collection(call, 'ComputerSystem', paths);
      },
    },
    {
      path: system,
      GET: (call) => views.systemView(core, call),
      PATCH: (call) => patchSystem(core, call),
    },
    { path: `${system}/Actions/ComputerSystem.Reset`, POST: (call) => resetSystem(core, call) },
    { path: `${system}/ResetActionInfo`, GET: (call) => views.actionInfoView(core, call) },
    {
      path: `${ROOT}/Managers`,
      GET: (call) => views.collection(call, 'Manager', [`${ROOT}/Managers/${profile.managerId}`]),
    },
    { path: manager, GET: (call) => views.managerView(core, call) },
    { path: `${manager}/Actions/Manager.Reset`, POST: (call) => resetManager(core, call) },
    {
      path: `${ROOT}/Chassis`,
      GET: (call) => {
        const paths = call.bmc.systems.map(({ id }) => `${ROOT}/Chassis/${id}`);
        return views.collection(call, 'Chassis', paths);
      },
    },
    { path: `${ROOT}/Chassis/{chassis}`, GET: (call) => views.chassisView(core, call) },
    {
      path: media,
      GET: (call) => {
        const paths = views.devicesOf(core, call).map(({ id }) => `${call.path}/${id}`);
        return views.collection(call, 'VirtualMedia', paths);
      },
    },
    {
      path: device,
      GET: (call) => views.mediaView(core, call),
      ...(profile.mediaBy === 'patch' && { PATCH: (call: Call) => patchMedia(core, call) }),
    },
    ...(profile.bootInSettings ? [settings(core, system)] : []),
    ...logResources(core, profile.logAt === 'Systems' ? system : manager),
    ...(profile.mediaBy === 'action' ? mediaActions(core, device) : []),
    {
      path: `${ROOT}/SessionService`,
      GET: (call) => sessions.serviceView(core, call),
      PATCH: (call) => sessions.patchService(core, call),
    },
    {
      path: SESSIONS,
      open: ['POST'],
      GET: (call) => sessions.sessionsView(core, call),
      POST: (call) => sessions.login(core, call),
    },
    {
      path: `${SESSIONS}/{session}`,
      GET: (call) => sessions.sessionView(core, call),
      DELETE: (call) => sessions.logout(core, call),
    },
    { path: `${ROOT}/TaskService`, GET: (call) => tasks.taskServiceView(core, call) },
    { path: `${ROOT}/TaskService/Tasks`, GET: (call) => tasks.tasksView(core, call) },
    { path: `${ROOT}/TaskService/Tasks/{task}`, GET: (call) => tasks.taskView(core, call) },
    { path: `${ROOT}/TaskService/TaskMonitors/{task}`, poll: (call) => tasks.monitor(core, call) },
  ];
}

const settings = (core: Core, system: string): Resource => ({
  path: `${system}/SD`,
  GET: (call) => views.settingsView(core, call),
  PATCH: (call) => patchSettings(core, call),
});

const logResources = (core: Core, owner: string): Resource[] => [
  { path: `${owner}/LogServices`, GET: (call) => logs.logServicesView(core, call) },
  { path: `${owner}/LogServices/{log}`, GET: (call) => logs.logServiceView(core, call) },
  {
    path: `${owner}/LogServices/{log}/Entries`,
    queries: ['$top', '$skip'],
    GET: (call) => logs.entriesView(core, call),
  },
  { path: `${owner}/LogServices/{log}/Entries/{entry}`, GET: (call) => logs.entryView(core, call) },
];

const mediaActions = (core: Core, device: string): Resource[] => [
  { path: `${device}/Actions/VirtualMedia.InsertMedia`, POST: (call) => insertMedia(core, call) },
  { path: `${device}/Actions/VirtualMedia.EjectMedia`, POST: (call) => ejectMedia(core, call) },
];
