import { randomBytes } from 'node:crypto';
import { generateHostKey } from '../../hosts/keys.ts';
import type { Answer, Call, Route } from '../core.ts';
import { type AccountKey, armed, type BootKind, type Server } from '../world.ts';
import { choiceField, listField } from './form.ts';
import { invalidInput, notFound, RobotError } from './robot-error.ts';
import {
  bootView,
  configView,
  DISTRIBUTIONS,
  KEYBOARDS,
  LANGUAGES,
  RESCUE_SYSTEMS,
  vncView,
} from './views.ts';

const ok = (body: unknown): Answer => ({ status: 200, body });

/** @throws {RobotError} 404. */
function bootable(call: Call): Server {
  const server = call.server();
  if (server.hasRescue) return server;
  throw new RobotError(404, 'BOOT_NOT_AVAILABLE', 'no boot configuration available');
}

function all(call: Call): Answer {
  const server = bootable(call);
  return ok({
    boot: {
      rescue: bootView(call, server, 'rescue'),
      linux: bootView(call, server, 'linux'),
      vnc: vncView(server),
      windows: null,
      plesk: null,
      cpanel: null,
    },
  });
}

/** @throws {RobotError} 400: a key that the account does not have. */
function keysOf({ core, form }: Call): readonly AccountKey[] {
  const keys = listField(form, 'authorized_key').map((text) => core.keys.get(text));
  if (keys.some((key) => key === undefined)) throw invalidInput({ invalid: ['authorized_key'] });
  return keys as readonly AccountKey[];
}

const chosenOr = ({ form }: Call, name: string, values: readonly string[]): string =>
  form.has(name) ? choiceField(form, name, values) : values[0]!;

function arm(call: Call, kind: BootKind): Answer {
  const server = bootable(call);
  const { core, form } = call;
  const system =
    kind === 'rescue'
      ? choiceField(form, 'os', RESCUE_SYSTEMS)
      : choiceField(form, 'dist', DISTRIBUTIONS);
  if (kind === 'rescue') chosenOr(call, 'keyboard', KEYBOARDS);
  const lang = kind === 'linux' ? choiceField(form, 'lang', LANGUAGES) : 'en';
  const keys = keysOf(call);
  const nowMs = core.clock.now();
  if (armed(server, nowMs)) {
    throw new RobotError(409, 'BOOT_ALREADY_ENABLED', 'a boot configuration is already active');
  }
  const boot = {
    kind,
    system,
    lang,
    keys,
    password: randomBytes(12).toString('base64url'),
    hostKey: generateHostKey(),
    armedMs: nowMs,
    bootedMs: null,
  };
  server.boot = boot;
  server.lastBoot[kind] = boot;
  const answer = ok({ [kind]: bootView(call, server, kind) });
  const fault = call.strike('rescueDisarms');
  const disarm = () => {
    if (server.boot === boot) server.boot = null;
  };
  if (fault?.afterMs) core.clock.setTimeout(disarm, fault.afterMs);
  else if (fault) disarm();
  return answer;
}

function disarm(call: Call, kind: BootKind): Answer {
  const server = bootable(call);
  if (armed(server, call.core.clock.now())?.kind === kind) server.boot = null;
  return ok({ [kind]: bootView(call, server, kind) });
}

function last(call: Call, kind: BootKind): Answer {
  const server = bootable(call);
  const config = server.lastBoot[kind];
  if (!config) throw notFound('boot configuration');
  return ok({ [kind]: configView(call, server, kind, config) });
}

const routesOf = (kind: BootKind): readonly Route[] => [
  {
    path: `/boot/{n}/${kind}`,
    GET: (call) => ok({ [kind]: bootView(call, bootable(call), kind) }),
    POST: (call) => arm(call, kind),
    DELETE: (call) => disarm(call, kind),
  },
  { path: `/boot/{n}/${kind}/last`, GET: (call) => last(call, kind) },
];

export const BOOT_ROUTES: readonly Route[] = [
  { path: '/boot/{n}', GET: all },
  ...routesOf('rescue'),
  ...routesOf('linux'),
];
