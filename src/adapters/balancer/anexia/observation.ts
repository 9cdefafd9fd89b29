import type { ObjectKind, Observed, PoolRef } from '../../../domain/balancing/objects.ts';
import type { BalancerLook } from '../port.ts';
import { type EngineObject, observedOf, placeOf } from './forms.ts';
import { type Claim, createReader, type Found, type Observation } from './reader.ts';

/**
 * Reads everything of an owner: what has its tag, and what has none of any owner and our full name.
 * Backends and frontends count where they are of our load balancer; binds and servers where their
 * parent does. What is there is what lists show; what it holds is what its row shows, or what was read
 * before where that may do, or what it is asked for by itself.
 */
export async function observe(
  scene: Observation,
  owner: PoolRef,
  { signal, mayRecall = false }: BalancerLook,
): Promise<readonly Observed[]> {
  const { memory, readings, loadBalancer } = scene;
  const failing = new AbortController();
  const within = AbortSignal.any([signal, failing.signal]);
  const { readClaims, readBelow, readUnlisted } = createReader(scene, owner, {
    signal: within,
    mayRecall,
  });

  async function readLayer(
    kinds: readonly ObjectKind[],
    lists: readonly Promise<readonly Found[]>[],
    claims: ReadonlyMap<string, Claim>,
    places: ReadonlySet<string>,
  ): Promise<readonly Found[]> {
    const isOurs = (kind: ObjectKind, object: EngineObject) =>
      places.has(placeOf(kind, object) ?? '');
    const layer = new Map<string, Found>();
    for (const one of (await Promise.all(lists)).flat()) layer.set(one.ref.id, one);
    const unlisted = [...claims.values()].filter(
      ({ ref: { kind, id } }) => kinds.includes(kind) && !layer.has(id),
    );
    const all = [...layer.values(), ...(await readUnlisted(unlisted, isOurs))];
    return all.filter(({ ref, object }) => isOurs(ref.kind, object));
  }

  async function readAll(): Promise<readonly Observed[]> {
    const claims = await readClaims();
    const atOurs = { load_balancer: loadBalancer };
    const top = (['backend', 'frontend'] as const).map((kind) => readBelow(kind, atOurs, claims));
    const tops = await readLayer(['backend', 'frontend'], top, claims, new Set([loadBalancer]));
    const parents = new Set(tops.map(({ ref }) => ref.id));
    const below = tops.map(({ ref: { kind, id } }) =>
      kind === 'backend'
        ? readBelow('server', { backend: id }, claims)
        : readBelow('bind', { frontend: id }, claims),
    );
    const leaves = await readLayer(['bind', 'server'], below, claims, parents);
    readings.retain(
      owner.uid,
      new Set([...claims.keys(), ...parents, ...leaves.map(({ ref }) => ref.id)]),
    );
    return [...tops, ...leaves].map((one) => observedOf(one.ref.kind, one.object, one.tagged));
  }

  try {
    const objects = await readAll();
    memory.observed(owner.uid, objects);
    return objects;
  } finally {
    // What one part of it failed for, the others need not go on for.
    failing.abort();
  }
}
