import { type ObjectKind, LINKS } from './kinds.ts';
import type { KnobValues } from './api.ts';
import { STATES } from './kinds.ts';
import { stateOf, tagsAt, type Thing, titleOf, type EngineWorld } from './world.ts';

/** One object on its own route: links are objects. */
export function objectView(
  world: EngineWorld,
  thing: Thing,
  knobs: KnobValues,
): Record<string, unknown> {
  const links = LINKS[thing.kind as ObjectKind] ?? {};
  const fields = Object.entries(thing.fields).map(([field, value]) => [
    field,
    field in links ? linkView(world, String(value)) : value,
  ]);
  return {
    customer_identifier: '',
    reseller_identifier: '',
    identifier: thing.id,
    ...Object.fromEntries(fields),
    name: thing.name,
    ...stateView(stateOf(thing, world.now()), knobs),
  };
}

function linkView({ things }: EngineWorld, id: string) {
  return { identifier: id, name: things.get(id)?.name ?? '' };
}

function stateView(id: string | null, { stateForm }: KnobValues) {
  if (id === null) return {};
  if (stateForm === 'bare') return { state: id };
  const { type = 2 } = STATES[id] ?? {};
  const title = titleOf(id);
  return { state: { id, type, ...(stateForm === 'title' ? { title } : { text: title }) } };
}

/** One resource: in lists its tags are texts. */
export function resourceView(thing: Thing, atMs: number, inList: boolean) {
  const tags = tagsAt(thing, atMs);
  return {
    identifier: thing.id,
    name: thing.name,
    resource_type: { identifier: thing.typeId ?? '', name: thing.kind ?? 'something else' },
    created_at: new Date(thing.createdAtMs).toISOString(),
    updated_at: new Date(thing.updatedAtMs).toISOString(),
    attributes: {},
    tags: inList ? tags : tags.map((name) => ({ name, identifier: `tag-${name.length}-${name}` })),
  };
}
