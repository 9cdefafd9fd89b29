import {
  isSameSpec,
  type PoolRef,
  type Ref,
  type Spec,
} from '../../../domain/balancing/objects.ts';
import { isProviderError } from '../../../domain/errors.ts';
import { type Engine, addTag, ownerIn, tagOf } from './engine.ts';
import { bodyOf, parentOf, specOf, type Readings } from './forms.ts';
import type { Memory, Place } from './memory.ts';

export interface Creation {
  readonly loadBalancer: string;
  readonly engine: Engine;
  readonly memory: Memory;
  readonly readings: Readings;
}

interface Wanted {
  readonly spec: Spec;
  readonly parentId: string | null;
  readonly owner: PoolRef;
}

/**
 * Creates and tags an object, or takes an existing one with this name, these fields and no other
 * owner. Searches for it first, unless an observation just showed that the name is unused. After an
 * unanswered request it searches again, and for a while sends no further request.
 */
export async function create(
  scene: Creation,
  { spec, parentId, owner }: Wanted,
  signal: AbortSignal,
): Promise<Ref> {
  const { engine, memory, readings, loadBalancer } = scene;
  const tag = tagOf(owner);
  const place: Place = { owner: owner.uid, parentId, spec };
  const found = await findExisting(scene, { spec, parentId, owner }, signal);
  const ref = found?.ref ?? { kind: spec.kind, id: await post() };
  if (found?.tagged !== true) {
    await addTag(engine, { id: ref.id, tag }, signal);
    memory.tagged(ref);
  }
  return ref;

  async function post(): Promise<string> {
    if (memory.isUnsettled(place)) {
      const text = `the creation of ${spec.name} was not answered, and its object may still appear`;
      throw engine.call(`create ${spec.kind}`, signal).error('transient', text);
    }
    const body = bodyOf(spec, parentId, loadBalancer);
    const id = await engine.post(spec.kind, body, signal).catch(async (error: unknown) => {
      if (!isProviderError(error) || error.outcome !== 'unknown') throw error;
      memory.unanswered(place);
      if (error.kind === 'aborted') throw error;
      await engine.call(`look for ${spec.kind}`, signal).backOff();
      const made = await findByName(scene, { spec, parentId, owner }, signal);
      if (!made) throw error;
      return made.ref.id;
    });
    memory.note(place, { kind: spec.kind, id });
    readings.made({ kind: spec.kind, id });
    return id;
  }
}

interface Existing {
  readonly ref: Ref;
  readonly tagged: boolean;
}

async function findExisting(
  scene: Creation,
  wanted: Wanted,
  signal: AbortSignal,
): Promise<Existing | null> {
  const { engine, memory } = scene;
  const { spec, parentId, owner } = wanted;
  const place: Place = { owner: owner.uid, parentId, spec };
  const made = memory.made(place);
  if (made) {
    // Lists may not show it yet.
    const object = await engine.get(spec.kind, made.ref.id, signal);
    if (object && isSameSpec(specOf(spec.kind, object), spec)) return made;
    if (!object) memory.forget(made.ref);
  }
  return made || memory.mayBeThere(place) ? findByName(scene, wanted, signal) : null;
}

async function findByName(
  { engine, loadBalancer, memory }: Creation,
  { spec, parentId, owner }: Wanted,
  signal: AbortSignal,
): Promise<Existing | null> {
  const { kind } = spec;
  const rows = await engine.list(kind, filtersOf(spec, parentId, loadBalancer), signal);
  const named = rows
    .filter(({ name }) => name === spec.name)
    .map(({ identifier }) => identifier)
    .toSorted();
  for (const id of named) {
    const object = await engine.get(kind, id, signal);
    if (!object || !isSameSpec(specOf(kind, object), spec)) continue;
    if (parentOf(kind, object) !== parentId) continue;
    const isTop = kind === 'backend' || kind === 'frontend';
    if (isTop && object.load_balancer !== loadBalancer) continue;
    const told = await engine.getResource(id, signal);
    const whose = told && ownerIn(told.tags ?? [], tagOf(owner));
    if (whose === null || whose === 'another') continue;
    memory.note({ owner: owner.uid, parentId, spec }, { kind, id });
    if (whose === 'us') memory.tagged({ kind, id });
    return { ref: { kind, id }, tagged: whose === 'us' };
  }
  return null;
}

function filtersOf({ kind }: Spec, parentId: string | null, loadBalancer: string) {
  if (kind === 'bind') return { frontend: parentId ?? '' };
  if (kind === 'server') return { backend: parentId ?? '' };
  return { load_balancer: loadBalancer };
}
