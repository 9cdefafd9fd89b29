import type { Answer, Call, Core, Route } from '../core.ts';
import type { Life, PowerAction } from '../life/life.ts';
import { newId } from '../state/ids.ts';
import { type Billing, isInstalling, note } from '../state/world.ts';
import { notFound, refusalBy } from './api-error.ts';
import { attributesOf, hostnameProblems, refuseFor, textIn } from './input.ts';
import { DEPLOY_RULES, featureProblems, missingInstallation } from './server-create.ts';
import { changeableServer } from './servers.ts';
import { document, timeText } from './views.ts';

/** What servers are told to do. */
export function orderRoutes(core: Core, life: Life): readonly Route[] {
  return [
    { method: 'POST', path: '/servers/{id}/actions', handle: (call) => act(core, life, call) },
    {
      method: 'POST',
      path: '/servers/{id}/reinstall',
      handle: (call) => install(core, life, call),
    },
    {
      method: 'POST',
      path: '/servers/{id}/schedule_deletion',
      handle: (call) => scheduleDeletion(core, life, call),
    },
    {
      method: 'DELETE',
      path: '/servers/{id}/schedule_deletion',
      handle(call) {
        const server = changeableServer(core, call);
        if (server.scheduledDeletionAtMs === null) throw notFound();
        life.scheduleRemoval(server, null);
        note(core.world, server, 'unschedule_deletion', core.clock.now());
        return { status: 204 };
      },
    },
  ];
}

const ACTIONS = ['power_on', 'power_off', 'reboot'];

function act(core: Core, life: Life, call: Call): Answer {
  const server = changeableServer(core, call);
  const rules = { action: { type: 'text', required: true, oneOf: ACTIONS } } as const;
  const { attributes, problems } = attributesOf(call, 'actions', rules);
  refuseFor(problems, [], 422);
  const action = textIn(attributes, 'action') as PowerAction;
  const isOff = server.status === 'off';
  const mayAct = isOff ? action === 'power_on' : server.status === 'on' && !isInstalling(server);
  if (call.strikeAt(server, 'ipmiUnavailable') || !mayAct) throw refusalBy(core.knobs.stateText);
  if (!call.strike('actionIgnored')) life.act(server, action);
  const id = newId('act', core.world.ids);
  const attributesShown = { status: 'success' };
  return { status: 201, body: document({ id, type: 'actions', attributes: attributesShown }) };
}

function install(core: Core, life: Life, call: Call): Answer {
  const { world, knobs } = core;
  const server = changeableServer(core, call);
  const { attributes, problems } = attributesOf(call, 'reinstalls', DEPLOY_RULES);
  const hostname = textIn(attributes, 'hostname');
  const { deploy } = server;
  refuseFor(
    [
      ...problems,
      ...hostnameProblems(hostname),
      ...featureProblems(core, attributes, deploy.operatingSystem),
    ],
    missingInstallation(core, attributes, server.projectId),
    knobs.unknownReference,
  );
  if (isInstalling(server)) throw refusalBy(knobs.stateText);
  const userData = textIn(attributes, 'user_data') ?? deploy.userData;
  const content = userData === null ? undefined : world.userData.get(userData)?.content;
  server.hostname = hostname ?? server.hostname;
  server.deploy = {
    operatingSystem: textIn(attributes, 'operating_system') ?? deploy.operatingSystem,
    hostname: server.hostname,
    raid: textIn(attributes, 'raid') ?? deploy.raid,
    userData,
    sshKeys: (attributes['ssh_keys'] as readonly string[] | undefined) ?? deploy.sshKeys,
    content: content ?? null,
  };
  life.reinstall(server);
  if (knobs.reinstallReply === 'empty') return { status: 201 };
  const shown = { id: server.id, type: 'reinstalls', attributes: { status: server.status } };
  return { status: 201, body: document(shown) };
}

const HOUR_MS = 3_600_000;
const CYCLE_MS: Readonly<Record<Billing, number>> = {
  hourly: HOUR_MS,
  monthly: 30 * 24 * HOUR_MS,
  yearly: 365 * 24 * HOUR_MS,
};

/** At the end of what is paid. */
function scheduleDeletion(core: Core, life: Life, call: Call): Answer {
  const server = changeableServer(core, call);
  const { clock, world } = core;
  const cycleMs = CYCLE_MS[server.billing];
  const past = Math.floor((clock.now() - server.createdAtMs) / cycleMs);
  const atMs = server.createdAtMs + (past + 1) * cycleMs;
  life.scheduleRemoval(server, atMs);
  note(world, server, 'schedule_deletion', clock.now());
  const attributes = { server_id: server.id, scheduled_deletion_at: timeText(atMs) };
  const data = { id: newId('sd', world.ids), type: 'schedule_deletion', attributes };
  return { status: 201, body: document(data) };
}
