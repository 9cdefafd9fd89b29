import type { ApiAnswer, Route } from '../../kit/api.ts';
import { httpDate } from '../../kit/outcome.ts';
import type { RedfishCall, RackCore, Rack, Resource, ResourceView } from '../core.ts';
import { entityTagOf, requireMatch } from '../etag.ts';
import { patchSettings, patchSystem, resetManager, resetSystem } from './changes.ts';
import { ejectMedia, insertMedia, patchMedia } from './media.ts';
import * as sessions from './sessions.ts';
import * as tasks from './tasks.ts';
import * as views from './views.ts';

const { ROOT } = views;
const { SESSIONS } = sessions;
const { TASKS, MONITORS } = tasks;

/** All resources of the service, at the vendor's paths. */
function resourcesOf({ vendor }: Pick<RackCore, 'vendor'>): readonly Resource[] {
  const system = `${ROOT}/Systems/{system}`;
  const manager = `${ROOT}/Managers/{manager}`;
  const media = `${vendor.mediaAt === 'Systems' ? system : manager}/VirtualMedia`;
  const device = `${media}/{media}`;
  const action = `${device}/Actions/VirtualMedia`;
  const devices: Resource[] =
    vendor.mediaBy === 'patch'
      ? [{ path: device, GET: views.mediaView, PATCH: patchMedia }]
      : [
          { path: device, GET: views.mediaView },
          { path: `${action}.InsertMedia`, POST: insertMedia },
          { path: `${action}.EjectMedia`, POST: ejectMedia },
        ];
  const settings = { path: `${system}/SD`, GET: views.settingsView, PATCH: patchSettings };
  const actionInfo = { path: `${system}/ResetActionInfo`, GET: views.actionInfoView };
  return [
    { path: ROOT, GET: views.rootView },
    { path: `${ROOT}/Systems`, GET: views.systemsView },
    { path: system, GET: views.systemView, PATCH: patchSystem },
    { path: `${system}/Actions/ComputerSystem.Reset`, POST: resetSystem },
    { path: `${system}/LogServices`, GET: views.logServicesView },
    { path: `${system}/LogServices/Log`, GET: views.logServiceView },
    { path: `${system}/LogServices/Log/Entries`, GET: views.logEntriesView },
    { path: `${system}/LogServices/Log/Entries/{entry}`, GET: views.logEntryView },
    ...(vendor.resetsIn === 'actionInfo' ? [actionInfo] : []),
    ...(vendor.bootInSettings ? [settings] : []),
    { path: `${ROOT}/Managers`, GET: views.managersView },
    { path: manager, GET: views.managerView },
    { path: `${manager}/Actions/Manager.Reset`, POST: resetManager },
    { path: media, GET: views.devicesView },
    ...devices,
    { path: `${ROOT}/SessionService`, GET: sessions.serviceView },
    { path: SESSIONS, GET: sessions.sessionsView, POST: sessions.login },
    { path: `${SESSIONS}/{session}`, GET: sessions.sessionView, DELETE: sessions.logout },
    { path: `${ROOT}/TaskService`, GET: tasks.serviceView },
    { path: TASKS, GET: tasks.tasksView },
    { path: `${TASKS}/{task}`, GET: tasks.taskView },
    { path: `${MONITORS}/{task}`, poll: tasks.monitor },
  ];
}

/** The same as routes: a view has an ETag, and a change may need an ETag, or continue as a task. */
export const routesOf = (rack: Rack): Route<RedfishCall>[] =>
  resourcesOf(rack).flatMap((resource) => {
    const { path, GET: view, poll } = resource;
    const methods = METHODS.filter((method) => resource[method] ?? (method === 'GET' && poll));
    const show = (call: RedfishCall, body: ResourceView): ApiAnswer => {
      const etag = 'Id' in body ? { etag: entityTagOf(resource, rack, call) } : {};
      return { status: 200, headers: { allow: methods.join(', '), ...etag }, body };
    };
    const act = (method: (typeof METHODS)[number], call: RedfishCall): ApiAnswer => {
      if (method === 'GET') return view ? show(call, view(rack, call)) : poll!(rack, call);
      requireMatch(resource, rack, call);
      const answer = resource[method]!(rack, call);
      const mayGoOn = method !== 'DELETE' && answer.status !== 201;
      const task = mayGoOn ? call.strike('task') : undefined;
      return task ? tasks.startTask(rack, call, task) : answer;
    };
    return methods.map((method) => ({
      ...{ method, path },
      handle: (call) => inTime(rack, call, act(method, call)),
    }));
  });

const METHODS = ['GET', 'POST', 'PATCH', 'DELETE'] as const;

/** By the BMC's own clock. */
const inTime = ({ clock }: Rack, call: RedfishCall, answer: ApiAnswer): ApiAnswer => ({
  ...answer,
  headers: { date: httpDate(Date.parse(call.time(clock.now()))), ...answer.headers },
});
