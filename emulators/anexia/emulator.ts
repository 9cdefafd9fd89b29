import { randomUUID } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { orRefuse } from '../kit/admin.ts';
import {
  baseOf,
  createKnobs,
  type Emulator,
  type EmulatorOptions,
  type Knobs,
  startEmulator,
} from '../kit/emulator.ts';
import {
  apiOf,
  type Complaint,
  DEFAULT_KNOBS,
  type EngineFault,
  type EngineFaultRule,
  FAULTS,
  KNOBS,
  type KnobValues,
} from './api.ts';
import type { ObjectKind } from './kinds.ts';
import { objectRoutes } from './object-routes.ts';
import { resourceRoutes } from './resource-routes.ts';
import { addThing, isThere, stateOf, tagsAt, type Thing, type EngineWorld } from './world.ts';

export interface AnexiaEmulatorOptions extends EmulatorOptions<EngineFaultRule> {
  /** Time from a creation or change to its deployment, milliseconds. Default 0. */
  readonly stateDelayMs?: number;
  /** Number of load balancers. Default 2. */
  readonly loadBalancers?: number;
  readonly knobs?: Partial<KnobValues>;
}

/** An object as tests see it. */
export interface ObjectSnapshot {
  readonly id: string;
  /** Null: a resource of another kind. */
  readonly kind: ObjectKind | null;
  readonly name: string;
  readonly fields: Readonly<Record<string, unknown>>;
  /** `0` to `4`. */
  readonly state: string;
  readonly tags: readonly string[];
}

/** Additions of this emulator to the common interface. */
interface Inside {
  /** In the order of creation; deleted objects are gone. */
  objects(): readonly ObjectSnapshot[];
  complaints(): readonly Complaint[];
  setKnobs(knobs: Partial<KnobValues>): KnobValues;
  /** Sets an object's state at once; null: it shows none. @throws {Error} it is unknown. */
  setState(id: string, state: string | null): void;
  /** Changes fields without a request. @throws {Error} it is unknown. */
  setFields(id: string, fields: Readonly<Record<string, unknown>>): void;
  /** Adds a resource of a kind without API routes. @returns its id. */
  addResource(resource: z.output<typeof resourceBody>): string;
}

export interface AnexiaEmulator extends Emulator<EngineFaultRule, EngineFault>, Inside {
  /** For `Authorization: Token …`. */
  readonly token: string;
  /** Ids. */
  readonly loadBalancers: readonly string[];
}

const resourceBody = z.strictObject({
  name: z.string(),
  typeId: z.string(),
  tags: z.array(z.string()),
});
/** Resource type of load balancers, which no list of ours may mistake for its own. */
const LOAD_BALANCER_TYPE = '00000000000000000000000000000001';

/**
 * Starts an emulator of the part of the Anexia Engine that load balancers need.
 * @throws {ZodError} a rule is invalid. @throws {ListenError} the address is not available.
 */
export async function startAnexiaEmulator(options: AnexiaEmulatorOptions): Promise<AnexiaEmulator> {
  const base = baseOf(options, FAULTS);
  const { clock, ids } = base;
  const world: EngineWorld = { things: new Map(), now: clock.now, ids };
  const knobs = createKnobs(KNOBS, { ...DEFAULT_KNOBS }, options.knobs);
  const complaints: Complaint[] = [];
  const token = `token-${randomUUID()}`;
  const core = { world, clock, knobs: knobs.values, stateDelayMs: options.stateDelayMs ?? 0 };
  const loadBalancers = Array.from({ length: options.loadBalancers ?? 2 }, (_, n) => {
    const one = { kind: 'loadbalancer', typeId: LOAD_BALANCER_TYPE, fields: {} } as const;
    return addThing(world, { ...one, name: `lb-${n + 1}` }, { stateDelayMs: 0 }).id;
  });
  const inside = insideOf(world, knobs, complaints);
  const routes = [...objectRoutes(core), ...resourceRoutes(core)];
  const emulator = await startEmulator(base, options, {
    form: FAULTS,
    api: apiOf({ routes, world, token, complaints }),
    admin: (app) => addAdmin(app, inside, knobs),
  });
  return { ...emulator, ...inside, token, loadBalancers };
}

function insideOf(world: EngineWorld, knobs: Knobs<KnobValues>, complaints: Complaint[]): Inside {
  const find = (id: string): Thing => {
    const thing = world.things.get(id);
    if (!thing || !isThere(thing, world.now())) throw new Error(`there is no object ${id}`);
    return thing;
  };
  const there = () => [...world.things.values()].filter((one) => isThere(one, world.now()));
  return {
    objects: () =>
      there().flatMap(({ kind, ...one }) =>
        kind === 'loadbalancer'
          ? []
          : {
              ...{ id: one.id, kind, name: one.name, fields: one.fields },
              state: stateOf(one, world.now()) ?? '',
              tags: tagsAt(one, world.now()),
            },
      ),
    complaints: () => [...complaints],
    setKnobs: knobs.set,
    setState: (id, state) => void (find(id).forcedState = state),
    setFields(id, fields) {
      const thing = find(id);
      thing.fields = { ...thing.fields, ...fields };
    },
    addResource({ name, typeId, tags }) {
      const thing = addThing(world, { kind: null, typeId, name, fields: {} }, { stateDelayMs: 0 });
      for (const tag of tags) {
        thing.tags.push({ name: tag, atMs: world.now(), removedAtMs: Infinity });
      }
      return thing.id;
    },
  };
}

const stateBody = z.strictObject({ state: z.string().nullable() });
const fieldsBody = z.strictObject({ fields: z.record(z.string(), z.unknown()) });

function addAdmin(app: FastifyInstance, inside: Inside, knobs: Knobs<KnobValues>): void {
  knobs.addRoutes(app);
  app.get('/state', async () => ({ objects: inside.objects(), complaints: inside.complaints() }));
  app.post<{ Params: { id: string } }>('/objects/:id/state', async ({ params, body }) => {
    const { state } = stateBody.parse(body);
    orRefuse(404, () => inside.setState(params.id, state));
    return {};
  });
  app.patch<{ Params: { id: string } }>('/objects/:id', async ({ params, body }) => {
    const { fields } = fieldsBody.parse(body);
    orRefuse(404, () => inside.setFields(params.id, fields));
    return {};
  });
  app.post('/resources', async ({ body }, reply) => {
    void reply.code(201);
    return { identifier: inside.addResource(resourceBody.parse(body)) };
  });
}
