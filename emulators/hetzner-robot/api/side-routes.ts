import type { Call, Route } from '../core.ts';
import type { Server } from '../world.ts';
import { textField } from './form.ts';
import { RobotError } from './robot-error.ts';
import { placeOf } from './views.ts';

/** Wake on LAN, and names of addresses. */

const wolOf = (server: Server) => ({ status: 200, body: { wol: placeOf(server) } });

function wake(call: Call) {
  const server = call.server();
  call.core.machines.get(server.number)!.wake();
  return wolOf(server);
}

/** @throws {RobotError} 404. */
function addressOf({ core, params }: Call): Server {
  const server = core.servers.find(({ ip }) => ip !== null && ip === params['ip']);
  if (!server) throw new RobotError(404, 'IP_NOT_FOUND', 'IP not found');
  return server;
}

const rdnsOf = ({ ip, ptr }: Server) => ({ rdns: { ip, ptr } });

function remove(call: Call) {
  const server = addressOf(call);
  if (server.ptr === null) throw new RobotError(404, 'RDNS_NOT_FOUND', 'no reverse DNS entry');
  server.ptr = null;
  return { status: 200 };
}

function set(call: Call, status: number) {
  const server = addressOf(call);
  server.ptr = textField(call.form, 'ptr');
  return { status, body: rdnsOf(server) };
}

function create(call: Call) {
  if (addressOf(call).ptr !== null) {
    throw new RobotError(409, 'RDNS_ALREADY_EXISTS', 'there is a reverse DNS entry already');
  }
  return set(call, 201);
}

export const SIDE_ROUTES: readonly Route[] = [
  { path: '/wol/{n}', GET: (call) => wolOf(call.server()), POST: wake },
  {
    path: '/rdns',
    GET: ({ core }) => ({
      status: 200,
      body: core.servers.filter(({ ip }) => ip !== null).map(rdnsOf),
    }),
  },
  {
    path: '/rdns/{ip}',
    GET: (call) => ({ status: 200, body: rdnsOf(addressOf(call)) }),
    PUT: create,
    POST: (call) => set(call, 200),
    DELETE: remove,
  },
];
