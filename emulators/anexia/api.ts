import { z } from 'zod';
import { type EmulatedApi, jsonOf, type Occasion, ApiRefusal, type Route } from '../kit/api.ts';
import { type FaultEffectOf, faultForm, type FaultOf, type FaultRuleOf } from '../kit/faults.ts';
import { isSameSecret } from '../kit/same-secret.ts';
import { type ObjectKind, KINDS } from './kinds.ts';
import type { Doom, EngineWorld } from './world.ts';

export const FAULTS = faultForm({
  match: {
    kind: z.enum(KINDS).optional(),
    /** The object's name or id, from the body of a creation or the path. */
    name: z.string().optional(),
    id: z.string().optional(),
    /** Page of a list. */
    page: z.int().min(1).optional(),
  },
  effects: [
    /** A creation makes two objects; the answer names the second. */
    z.strictObject({ type: z.literal('twin') }),
    /** New objects stay NewlyCreated. */
    z.strictObject({ type: z.literal('neverDeploys') }),
    /** New or changed objects end in DeploymentError, for this many deployments; default 1. */
    z.strictObject({ type: z.literal('deploymentError'), deployments: z.int().min(1).optional() }),
    /** Lists show the objects and tags of this long ago. */
    z.strictObject({ type: z.literal('lag'), lagMs: z.number().positive() }),
  ],
  once: ['twin', 'neverDeploys', 'deploymentError'],
});
export type EngineFaultRule = FaultRuleOf<typeof FAULTS>;
export type EngineFault = FaultOf<typeof FAULTS>;
type EngineFaultEffect = FaultEffectOf<typeof FAULTS>;

/** Behaviour of the service that nobody has observed, or that was observed in several forms. */
export const KNOBS = {
  /** The form of lists. */
  listForm: z.enum(['paged', 'wrapped', 'array']),
  /** Whether list rows of one kind hold only identifier and name, or all fields. */
  rows: z.enum(['short', 'full']),
  /** The form of an object's state: `text` is older; `bare` is the id alone. */
  stateForm: z.enum(['title', 'text', 'bare']),
  /** Maximum page size, whatever the request says. */
  limitMax: z.int().min(1),
  /** Status when a referenced object is deleted; 0 allows the deletion. */
  blockedStatus: z.int().min(0).max(599),
  /** Duration of tagging a resource; a second tagging meanwhile is a conflict. */
  taggingMs: z.number().min(0),
};
export type KnobValues = z.output<z.ZodObject<typeof KNOBS>>;
export const DEFAULT_KNOBS: KnobValues = {
  listForm: 'paged',
  rows: 'short',
  stateForm: 'title',
  limitMax: 1000,
  blockedStatus: 422,
  taggingMs: 1,
};

export const errorBody = (status: number, message: string, validation: object = {}): object => ({
  error: { code: status, message, validation },
  debug: { source: 'emulator' },
});
/** A refusal that the client sees. */
export const refusal = (
  status: number,
  message: string,
  validation: Readonly<Record<string, string>> = {},
) => new ApiRefusal(status, errorBody(status, message, validation));

/** One request as a handler sees it. */
export interface EngineCall {
  readonly params: Readonly<Record<string, string>>;
  readonly query: ReadonlyMap<string, string>;
  /** As received, without the question mark. */
  readonly rawQuery: string;
  /** Parsed; undefined for an empty body. */
  readonly body: unknown;
  /** Lists show the objects of this time, epoch ms. */
  readonly listsAtMs: number;
  /** Effects of faults on a creation or change. */
  readonly doom: Required<Doom>;
  /** Reports a request that the sender may have meant differently. */
  complain(text: string): void;
  /** Waits on the emulator's clock. */
  wait(delayMs: number): Promise<void>;
}

/** A request that the real service may interpret differently. */
export interface Complaint {
  /** Number in the journal. */
  readonly seq: number;
  readonly text: string;
}

export interface ApiParts {
  readonly routes: readonly Route<EngineCall>[];
  readonly world: EngineWorld;
  readonly token: string;
  readonly complaints: Complaint[];
}

/** The Engine's request handling. */
export const apiOf = ({
  routes,
  world,
  token,
  complaints,
}: ApiParts): EmulatedApi<EngineCall, EngineFaultEffect> => ({
  name: 'The emulator of the Anexia Engine',
  routes,
  errorBody,
  subject: ({ route, params: { id }, query, entry: { body } }) => {
    const thing = id === undefined ? undefined : world.things.get(id);
    const told = typeof body === 'object' && body !== null && 'name' in body ? body.name : null;
    return {
      kind: kindIn(route) ?? thing?.kind,
      name: thing?.name ?? (typeof told === 'string' ? told : undefined),
      id,
      page: query.has('page') ? Number(query.get('page')) : undefined,
    };
  },
  admit({ method, headers }) {
    const shown = /^Token (\S+)$/.exec(headers.authorization ?? '')?.[1];
    if (shown === undefined) throw refusal(401, 'Authorization: Token … is missing');
    if (!isSameSecret(shown, token)) throw refusal(403, 'Permission denied');
    if (!headers['user-agent']) throw refusal(400, 'User-Agent is missing');
    if (method === 'GET' && !/application\/json|\*\/\*/.test(headers.accept ?? '')) {
      throw refusal(406, 'Accept must be application/json');
    }
  },
  call(occasion) {
    const { method, params, query, rawQuery, entry, wait } = occasion;
    const isList = method === 'GET' && !occasion.route.endsWith('}');
    const lags = isList ? occasion.strikeAll(['lag']) : [];
    return {
      ...{ params, query, rawQuery, wait },
      body: bodyOf(occasion),
      listsAtMs: world.now() - Math.max(0, ...lags.map(({ lagMs }) => lagMs)),
      doom: doomOf(occasion),
      complain: (text) => void complaints.push({ seq: entry.seq, text }),
    };
  },
});

const kindIn = (route: string): ObjectKind | undefined =>
  KINDS.find((kind) => route.startsWith(`/api/LBaaS/v1/${kind}.json`));

/** @throws {ApiRefusal} 400, 415. */
function bodyOf(occasion: Occasion<EngineFaultEffect>): unknown {
  const isWrite = ['POST', 'PUT'].includes(occasion.method);
  if (isWrite && occasion.text.trim() === '') throw refusal(400, 'The body is missing');
  return jsonOf(occasion, errorBody);
}

function doomOf({ method, route, strikeAll }: Occasion<EngineFaultEffect>): Required<Doom> {
  const writes = kindIn(route) !== undefined && ['POST', 'PUT'].includes(method);
  const effects = writes ? strikeAll(['twin', 'neverDeploys', 'deploymentError']) : [];
  const has = (type: EngineFaultEffect['type']) => effects.some((one) => one.type === type);
  const fails = effects.filter((one) => one.type === 'deploymentError');
  return {
    twin: has('twin'),
    neverDeploys: has('neverDeploys'),
    failures: Math.max(0, ...fails.map(({ deployments = 1 }) => deployments)),
  };
}
