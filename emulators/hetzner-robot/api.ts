import { z } from 'zod';
import type { EmulatedApi, Occasion, Route } from '../kit/api.ts';
import type { EmulatorClock } from '../kit/clock.ts';
import type { FaultRules } from '../kit/fault-rules.ts';
import {
  type CommonMatch,
  type FaultEffectOf,
  faultForm,
  type FaultOf,
  type FaultRuleOf,
  type RuleSubject,
} from '../kit/faults.ts';
import { isSameSecret } from '../kit/same-secret.ts';
import { errorBody, refusal, serverNotFound } from './errors.ts';
import { type Form, parseForm } from './form.ts';
import { createLimits } from './limits.ts';
import type { RobotMachine } from './machine/machine.ts';
import type { AccountKey, RobotServer } from './world.ts';

const MACHINE = ['server', 'nth', 'every', 'probability'];

export const FAULTS = faultForm({
  /** Server number. */
  match: { server: z.int().optional() },
  effects: [
    /** `ignored`: answers with the old name; `cut` to `length`; `late`: visible only `ms` later. */
    z.strictObject({
      type: z.literal('rename'),
      does: z.enum(['ignored', 'cut', 'late']),
      /** Of `cut`. Default 20. */
      length: z.int().min(0).optional(),
      /** Of `late`. Default 30 000. */
      ms: z.number().min(0).optional(),
    }),
    /** Somebody else renames the server right after us. */
    z.strictObject({ type: z.literal('nameTaken'), name: z.string() }),
    /** Not listed, or unknown. */
    z.strictObject({ type: z.literal('serverGone'), from: z.enum(['list', 'account']) }),
    /** Overrides fields of a server, such as `{"status": "in process"}`. */
    z.strictObject({ type: z.literal('fields'), fields: z.record(z.string(), z.unknown()) }),
    /** `ignored`: acknowledged without effect; `failsThoughDone`: 500 RESET_FAILED, and done. */
    z.strictObject({ type: z.literal('reset'), does: z.enum(['ignored', 'failsThoughDone']) }),
    /** Disarms the rescue system after this time; default: at once. */
    z.strictObject({ type: z.literal('rescueDisarms'), afterMs: z.number().min(0).optional() }),
    /** Sets `host_key` of an armed rescue system; otherwise it is empty. */
    z.strictObject({ type: z.literal('hostKey'), shows: z.enum(['right', 'wrong']) }),
    /** The machine boots from its drives, even if something is armed. */
    z.strictObject({ type: z.literal('bootsDisk') }),
    /** The rescue system accepts a stranger's key, or none. */
    z.strictObject({ type: z.literal('rescueKeys'), does: z.enum(['foreign', 'none']) }),
    z.strictObject({
      type: z.literal('installimage'),
      does: z.enum(['fails', 'hangs', 'marksAndFails']),
    }),
    /** SSH accepts the login, and no command ever ends. */
    z.strictObject({ type: z.literal('commandHangs') }),
  ],
  once: ['nameTaken'],
  matchedBy: {
    ...{ bootsDisk: MACHINE, rescueKeys: MACHINE, installimage: MACHINE, commandHangs: MACHINE },
  },
});
export type RobotFaultRule = FaultRuleOf<typeof FAULTS>;
export type RobotFault = FaultOf<typeof FAULTS>;
export type RobotFaultEffect = FaultEffectOf<typeof FAULTS>;
export type RobotEffectOf<T extends RobotFaultEffect['type']> = Extract<
  RobotFaultEffect,
  { type: T }
>;
export type RobotFaultRules = FaultRules<
  CommonMatch & { server?: number | undefined },
  RobotFaultEffect,
  RuleSubject
>;

const CODES: Readonly<Record<number, string>> = { 404: 'NOT_FOUND', 405: 'METHOD_NOT_ALLOWED' };

export interface Credentials {
  readonly user: string;
  readonly password: string;
}

/** The parts behind the API. */
export interface RobotCore {
  readonly servers: readonly RobotServer[];
  readonly machines: ReadonlyMap<number, RobotMachine>;
  /** By fingerprint. */
  readonly keys: Map<string, AccountKey>;
  readonly clock: EmulatorClock;
}

/** One request as a handler sees it. */
export interface RobotCall
  extends RobotCore, Pick<Occasion<RobotFaultEffect>, 'params' | 'strike'> {
  readonly form: Form;
  /** The path's server. @throws {ApiRefusal} it does not exist. */
  server(): RobotServer;
  /** Like `strike`, for one server of a list. */
  strikeOf<T extends RobotFaultEffect['type']>(
    server: RobotServer,
    type: T,
    fits?: (effect: RobotEffectOf<T>) => boolean,
  ): RobotEffectOf<T> | undefined;
}

const WRONG_MAX = 3;
const BLOCKED_MS = 10 * 60_000;

export interface ApiParts {
  readonly core: RobotCore;
  readonly routes: readonly Route<RobotCall>[];
  readonly credentials: Credentials;
  /** Changed limits of requests per hour. */
  readonly limits: Readonly<Record<string, number>> | undefined;
}

/** Robot's request handling: forms, limits per hour, and logins that block an address. */
export function apiOf({
  core,
  routes,
  credentials,
  limits,
}: ApiParts): EmulatedApi<RobotCall, RobotFaultEffect> {
  const { servers, clock } = core;
  const counts = createLimits(limits);
  let wrongAtMs: number[] = [];
  let blockedUntilMs = 0;
  const numbered = (n: string | undefined) => servers.find(({ number }) => String(number) === n);

  function isRightLogin(authorization = ''): boolean {
    const [, encoded = ''] = /^basic (.*)$/i.exec(authorization) ?? [];
    const { user, password } = credentials;
    return isSameSecret(Buffer.from(encoded, 'base64').toString(), `${user}:${password}`);
  }
  /** The third wrong login within ten minutes blocks the address, whatever came in between. */
  function failLogin(): void {
    const nowMs = clock.now();
    wrongAtMs = [...wrongAtMs.filter((atMs) => atMs > nowMs - BLOCKED_MS), nowMs];
    if (wrongAtMs.length < WRONG_MAX) return;
    wrongAtMs = [];
    blockedUntilMs = nowMs + BLOCKED_MS;
  }

  return {
    name: 'The emulator of the Hetzner Robot',
    routes,
    errorBody: (status, message) => errorBody(status, CODES[status] ?? 'INTERNAL_ERROR', message),
    subject: ({ params }) => ({ server: numbered(params['n'])?.number }),
    masked: (_body, text) => {
      const fields = new URLSearchParams(text);
      if (fields.has('data')) fields.set('data', '***');
      return text === '' ? null : Object.fromEntries(fields);
    },
    arrive: () => (clock.now() < blockedUntilMs ? { status: 0, fate: 'dropped' } : undefined),
    admit({ method, path, headers }) {
      if (!isRightLogin(headers.authorization)) {
        failLogin();
        throw refusal(401, 'UNAUTHORIZED', 'Unauthorized');
      }
      const over = counts.over(`${method} /${path.split('/')[1]}`, clock.now());
      if (over) throw refusal(403, 'RATE_LIMIT_EXCEEDED', 'rate limit exceeded', over);
    },
    call(occasion) {
      const { params, subject, strike, text, headers } = occasion;
      const strikeOf: RobotCall['strikeOf'] = ({ number }, type, fits) =>
        strike(type, fits, { ...subject, server: number });
      return {
        ...core,
        ...{ params, strike, strikeOf },
        form: parseForm(text, headers['content-type']),
        server() {
          const server = numbered(params['n']);
          if (!server || strike('serverGone', ({ from }) => from === 'account')) {
            throw serverNotFound();
          }
          return server;
        },
      };
    },
  };
}
