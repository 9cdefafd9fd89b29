import { randomUUID } from 'node:crypto';
import { ADMIN_PATH } from '../kit/admin.ts';
import { createFaultBook } from '../kit/fault-book.ts';
import { listen } from '../kit/listen.ts';
import { createJournal, type Journal } from '../kit/journal.ts';
import { realClock } from '../kit/clock.ts';
import { createGenerator } from '../kit/random.ts';
import type { Controls } from './admin-routes.ts';
import type { Core, Subject } from './core.ts';
import {
  type Fault,
  type FaultEffect,
  type FaultMatch,
  ONCE,
  parseFaultRule,
} from './fault-rules.ts';
import { changeKnobs, DEFAULT_KNOBS } from './knobs.ts';
import { objectRoutes } from './object-routes.ts';
import type { AnexiaEmulator, AnexiaEmulatorOptions } from './options.ts';
import { createPipeline } from './pipeline.ts';
import { resourceRoutes } from './resource-routes.ts';
import { createServer } from './server.ts';
import { addThing, isThere, stateOf, tagsAt, type Thing } from './world.ts';

/** Of load balancers: no list of ours is to take one for its own. */
const LOAD_BALANCER_TYPE = '00000000000000000000000000000001';
/** Keeps the stream of chance apart from that of ids. */
const CHANCE_SALT = 0x9e3779b9;
const nothing = () => undefined;

/**
 * Starts an emulator of the part of the Anexia Engine that load balancers need.
 * @throws {ZodError} a rule that cannot be understood. @throws {ListenError} the address cannot be
 *   listened on.
 */
export async function startAnexiaEmulator(options: AnexiaEmulatorOptions): Promise<AnexiaEmulator> {
  const core = coreOf(options);
  const routes = [...objectRoutes(core), ...resourceRoutes(core)];
  const journal = createJournal({ requestCount: 0 });
  const controls = controlsOf(
    core,
    journal,
    routes.map(({ path }) => path),
  );
  options.faults?.forEach((rule) => controls.addFault(rule));
  const loadBalancers = Array.from({ length: options.loadBalancers ?? 2 }, (_, n) => {
    const one = { kind: 'loadbalancer', typeId: LOAD_BALANCER_TYPE, fields: {} } as const;
    return addThing(core.world, { ...one, name: `lb-${n + 1}` }, { stateDelayMs: 0 }).id;
  });
  const pipeline = createPipeline(core, journal);
  const { host } = options.listen;
  const admin = { controls, adminToken: core.adminToken };
  const app = createServer({ core, routes, pipeline, admin, host });
  const url = await listen(app, options.listen);
  let closing: Promise<void> | undefined;
  return {
    url,
    adminUrl: `${url}${ADMIN_PATH}`,
    tokens: { api: core.token, admin: core.adminToken },
    loadBalancers,
    ...controls,
    close() {
      pipeline.close();
      closing ??= app.close();
      return closing;
    },
  };
}

function coreOf(options: AnexiaEmulatorOptions): Core {
  const { clock = realClock, seed = 1, stateDelayMs = 0, knobs = {}, log } = options;
  const chance = createGenerator(seed ^ CHANCE_SALT);
  const store = { faults: [], faultCount: 0 };
  return {
    world: { things: new Map(), now: clock.now, ids: createGenerator(seed) },
    clock,
    chance,
    faults: createFaultBook<FaultMatch, FaultEffect, Subject>({
      store,
      chance,
      changed: nothing,
      once: ONCE,
    }),
    knobs: changeKnobs({ ...DEFAULT_KNOBS }, knobs),
    stateDelayMs,
    token: `token-${randomUUID()}`,
    adminToken: `admin-${randomUUID()}`,
    complaints: [],
    log: log ?? { debug: nothing, info: nothing, warn: nothing, error: nothing },
  };
}

function controlsOf(core: Core, journal: Journal, routes: readonly string[]): Controls {
  const { world, faults } = core;
  const find = (id: string): Thing => {
    const thing = world.things.get(id);
    if (!thing || !isThere(thing, world.now())) throw new Error(`there is no object ${id}`);
    return thing;
  };
  const there = () => [...world.things.values()].filter((one) => isThere(one, world.now()));
  return {
    objects: () =>
      there()
        .filter(({ kind }) => kind !== 'loadbalancer')
        .map((one) => ({
          id: one.id,
          kind: one.kind === 'loadbalancer' ? null : one.kind,
          name: one.name,
          fields: one.fields,
          state: stateOf(one, world.now()) ?? '',
          tags: tagsAt(one, world.now()),
        })),
    requests: (afterSeq = 0) => journal.since(afterSeq),
    complaints: () => [...core.complaints],
    addFault: (rule): Fault => ({ ...faults.add(parseFaultRule(rule, routes)) }),
    faults: faults.list,
    removeFault: faults.remove,
    clearFaults: faults.clear,
    setKnobs: (knobs) => ({ ...changeKnobs(core.knobs, knobs) }),
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
