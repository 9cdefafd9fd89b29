import { z } from 'zod';
import type { ApiAnswer, Route } from '../kit/api.ts';
import type { LatitudeCall } from './api.ts';
import { wrongState } from './errors.ts';
import { attributesOf } from './input.ts';
import { type ServerLife, POWER_ACTIONS } from './life/life.ts';
import { changeableServer, installationShape } from './servers.ts';
import { document, timeText } from './views.ts';
import { type Billing, contentOf, newId, type LatitudeWorld } from './world.ts';

const HOUR_MS = 3_600_000;
const CYCLE_MS: Readonly<Record<Billing, number>> = {
  hourly: HOUR_MS,
  monthly: 30 * 24 * HOUR_MS,
  yearly: 365 * 24 * HOUR_MS,
};

/** Power changes, reinstallations, and deletions at the end of the billing cycle. */
export function orderRoutes(
  world: LatitudeWorld,
  life: ServerLife,
): readonly Route<LatitudeCall>[] {
  const action = z.strictObject({ action: z.enum(POWER_ACTIONS) });
  const installation = z.strictObject(installationShape(world)).partial();
  const done = (data: object): ApiAnswer => ({ status: 201, body: document(data) });

  function act(call: LatitudeCall): ApiAnswer {
    const server = changeableServer(world, call);
    const { action: wanted } = attributesOf(call, 'actions', action);
    const isOff = server.status === 'off';
    const isOn = server.status === 'on' && !server.isInstalling;
    if (!(isOff ? wanted === 'power_on' : isOn)) throw wrongState();
    life.act(server, wanted);
    const id = newId('act', world.ids);
    return done({ id, type: 'actions', attributes: { status: 'success' } });
  }

  function reinstall(call: LatitudeCall): ApiAnswer {
    const server = changeableServer(world, call);
    const wanted = attributesOf(call, 'reinstalls', installation);
    if (server.isInstalling) throw wrongState();
    const { deploy } = server;
    const userData = wanted.user_data ?? deploy.userData;
    server.hostname = wanted.hostname ?? server.hostname;
    server.deploy = {
      operatingSystem: wanted.operating_system ?? deploy.operatingSystem,
      hostname: server.hostname,
      raid: wanted.raid ?? deploy.raid,
      userData,
      sshKeys: wanted.ssh_keys ?? deploy.sshKeys,
      content: contentOf(world, userData),
    };
    life.reinstall(server);
    const { id, status } = server;
    return done({ id, type: 'reinstalls', attributes: { status } });
  }

  function scheduleDeletion(call: LatitudeCall): ApiAnswer {
    const server = changeableServer(world, call);
    const { id, createdAtMs, billing } = server;
    const cycleMs = CYCLE_MS[billing];
    const past = Math.floor((world.now() - createdAtMs) / cycleMs);
    const atMs = createdAtMs + (past + 1) * cycleMs;
    life.scheduleRemoval(server, atMs);
    const attributes = { server_id: id, scheduled_deletion_at: timeText(atMs) };
    return done({ id: newId('sd', world.ids), type: 'schedule_deletion', attributes });
  }

  return [
    { method: 'POST', path: '/servers/{id}/actions', handle: act },
    { method: 'POST', path: '/servers/{id}/reinstall', handle: reinstall },
    { method: 'POST', path: '/servers/{id}/schedule_deletion', handle: scheduleDeletion },
  ];
}
