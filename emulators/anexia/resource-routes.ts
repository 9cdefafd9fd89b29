import type { Route } from '../kit/api.ts';
import { type EngineCall, refusal } from './api.ts';
import { pageView, pagingOf } from './lists.ts';
import { resourceView } from './views.ts';
import { type EngineCore, isThere, tagsAt, type Thing } from './world.ts';

const PATH = '/api/core/v1/resource.json';

/** The routes of resources and their tags. */
export function resourceRoutes(core: EngineCore): readonly Route<EngineCall>[] {
  const { world, knobs } = core;
  let tagging = 0;

  /** @throws {ApiRefusal} 404. */
  function find({ id = '' }: Readonly<Record<string, string>>): Thing {
    const thing = world.things.get(id);
    if (thing && isThere(thing, world.now())) return thing;
    throw refusal(404, 'Not Found');
  }

  function search({ query, listsAtMs, complain }: EngineCall): unknown {
    const tag = query.get('tag_name');
    const stray = [...query.keys()].find((name) => !['tag_name', 'page', 'limit'].includes(name));
    if (stray !== undefined) throw refusal(400, `there is no parameter ${stray}`);
    if (tag?.includes(',')) complain('only one tag can be searched');
    const paging = pagingOf(query, knobs);
    const found = [...world.things.values()].filter(
      (thing) =>
        isThere(thing, listsAtMs) && (tag === undefined || tagsAt(thing, listsAtMs).includes(tag)),
    );
    if (tag !== undefined && found.length === 0) {
      throw refusal(422, 'Validation failed', { tag_name: 'there is no such tag' });
    }
    return pageView(
      found.map((thing) => resourceView(thing, listsAtMs, true)),
      paging,
      knobs,
    );
  }

  /** One at a time. The real service handles no more, so the emulator refuses more. */
  async function tag({ params, body, complain, wait }: EngineCall) {
    const thing = find(params);
    if (body !== '') throw refusal(400, 'The body must be an empty text');
    if (tagging > 0) {
      complain('a resource was tagged while another one was');
      throw refusal(409, 'Conflict');
    }
    tagging++;
    try {
      if (knobs.taggingMs > 0) await wait(knobs.taggingMs);
    } finally {
      tagging--;
    }
    const name = params['tag'] ?? '';
    if (tagsAt(thing, world.now()).includes(name)) {
      throw refusal(422, 'Validation failed', { tag: 'the resource has it already' });
    }
    thing.tags.push({ name, atMs: world.now(), removedAtMs: Infinity });
    return { status: 200, body: resourceView(thing, world.now(), false) };
  }

  function untag({ params }: EngineCall) {
    const thing = find(params);
    const found = thing.tags.find(
      ({ name, removedAtMs }) => name === params['tag'] && removedAtMs === Infinity,
    );
    if (!found) throw refusal(404, 'Not Found');
    found.removedAtMs = world.now();
    return { status: 204 };
  }

  return [
    { method: 'GET', path: PATH, handle: (call) => ({ status: 200, body: search(call) }) },
    {
      method: 'GET',
      path: `${PATH}/{id}`,
      handle: ({ params }) => ({
        status: 200,
        body: resourceView(find(params), world.now(), false),
      }),
    },
    { method: 'POST', path: `${PATH}/{id}/tags/{tag}`, handle: tag },
    { method: 'DELETE', path: `${PATH}/{id}/tags/{tag}`, handle: untag },
  ];
}
