import type { ApiAnswer, Route } from '../kit/api.ts';
import { type EngineCall, refusal } from './api.ts';
import { isDeepStrictEqual } from 'node:util';
import type { z } from 'zod';
import { BODIES, FILTERS, type ObjectKind, KINDS, LINKS, TYPE_IDS } from './kinds.ts';
import { filtersOf, pageView, pagingOf } from './lists.ts';
import { objectView } from './views.ts';
import {
  type EngineCore,
  addThing,
  changeThing,
  destroyThing,
  isReferred,
  isThere,
  type Thing,
} from './world.ts';

/** The routes of the four kinds and of the load balancer. */
export const objectRoutes = (core: EngineCore): readonly Route<EngineCall>[] => [
  {
    method: 'GET',
    path: '/api/LBaaS/v1/loadbalancer.json/{id}',
    handle: ({ params }) =>
      ok(objectView(core.world, find(core, 'loadbalancer', params), core.knobs)),
  },
  ...KINDS.flatMap((kind) => routesOf(core, kind)),
];

const ok = (body: unknown): ApiAnswer => ({ status: 200, body });

function routesOf(core: EngineCore, kind: ObjectKind): Route<EngineCall>[] {
  const { world, knobs } = core;
  const path = `/api/LBaaS/v1/${kind}.json`;
  const view = (thing: Thing) => objectView(world, thing, knobs);
  return [
    { method: 'GET', path, handle: (call) => ok(list(core, kind, call)) },
    { method: 'POST', path, handle: (call) => ok(view(create(core, kind, call))) },
    {
      method: 'GET',
      path: `${path}/{id}`,
      handle: ({ params }) => ok(view(find(core, kind, params))),
    },
    { method: 'PUT', path: `${path}/{id}`, handle: (call) => ok(view(update(core, kind, call))) },
    {
      method: 'DELETE',
      path: `${path}/{id}`,
      handle: ({ params }) => {
        const thing = find(core, kind, params);
        if (knobs.blockedStatus > 0 && isReferred(world, thing)) {
          throw refusal(knobs.blockedStatus, `${kind} is in use`);
        }
        destroyThing(world, thing);
        return ok({});
      },
    },
  ];
}

/** @throws {ApiRefusal} 404. */
function find(
  { world }: EngineCore,
  kind: Thing['kind'],
  { id = '' }: Readonly<Record<string, string>>,
): Thing {
  const thing = world.things.get(id);
  if (thing?.kind === kind && isThere(thing, world.now())) return thing;
  throw refusal(404, 'Not Found');
}

function list({ world, knobs }: EngineCore, kind: ObjectKind, call: EngineCall): unknown {
  const paging = pagingOf(call.query, knobs);
  const { filters, complaint } = filtersOf(call.query, FILTERS[kind]);
  const isBare = /(^|&)filters=[^&]*=/.test(call.rawQuery);
  if (isBare) call.complain('filters is not escaped as a whole');
  if (complaint !== undefined) call.complain(complaint);
  const fits = (thing: Thing) =>
    filters !== null &&
    !isBare &&
    thing.kind === kind &&
    isThere(thing, call.listsAtMs) &&
    [...filters].every(([field, value]) => thing.fields[field] === value);
  const rows = [...world.things.values()]
    .filter(fits)
    .map((thing) =>
      knobs.rows === 'full'
        ? objectView(world, thing, knobs)
        : { identifier: thing.id, name: thing.name },
    );
  return pageView(rows, paging, knobs);
}

function create(core: EngineCore, kind: ObjectKind, { body, doom }: EngineCall): Thing {
  const { name, ...fields } = checked(core, kind, body);
  const one = { kind, typeId: TYPE_IDS[kind], name, fields };
  const how = { stateDelayMs: core.stateDelayMs, doom };
  if (doom.twin) addThing(core.world, one, how);
  return addThing(core.world, one, how);
}

function update(core: EngineCore, kind: ObjectKind, { params, body, doom }: EngineCall): Thing {
  const thing = find(core, kind, params);
  const { identifier, state, ...rest } = recordOf(body);
  const wrong = {
    ...(identifier !== thing.id && { identifier: 'must be that of the path' }),
    ...(state !== '0' && { state: 'must be "0"' }),
  };
  if (!isDeepStrictEqual(wrong, {})) throw refusal(422, 'Validation failed', wrong);
  const { name, ...fields } = checked(core, kind, rest);
  if (name !== thing.name) throw refusal(422, 'Validation failed', { name: 'cannot change' });
  if (doom.failures > 0) thing.failures = doom.failures;
  changeThing(core.world, thing, fields, core.stateDelayMs);
  return thing;
}

/** @throws {ApiRefusal} 422 with each wrong or unknown field and each dangling reference. */
function checked({ world }: EngineCore, kind: ObjectKind, body: unknown) {
  const schema: z.ZodType<{ name: string } & Record<string, unknown>> = BODIES[kind];
  const parsed = schema.safeParse(recordOf(body));
  if (!parsed.success) {
    const wrong = parsed.error.issues.map(({ path, message }) => [
      path.join('.') || 'body',
      message,
    ]);
    throw refusal(422, 'Validation failed', Object.fromEntries(wrong) as Record<string, string>);
  }
  const dangling = Object.entries(LINKS[kind])
    .filter(([field]) => parsed.data[field] !== undefined)
    .filter(([field, to]) => {
      const target = world.things.get(String(parsed.data[field]));
      return target?.kind !== to || !isThere(target, world.now());
    });
  if (dangling.length === 0) return parsed.data;
  const wrong = dangling.map(([field, to]) => [field, `there is no such ${to}`]);
  throw refusal(422, 'Validation failed', Object.fromEntries(wrong) as Record<string, string>);
}

function recordOf(body: unknown): Record<string, unknown> {
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) {
    return body as Record<string, unknown>;
  }
  throw refusal(400, 'The body must be an object');
}
