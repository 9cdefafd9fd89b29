import {
  OBJECT_KINDS,
  type ObjectKind,
  type PoolRef,
  type Ref,
  type Observed,
} from '../../../domain/balancing/objects.ts';
import type { Log } from '../../log/port.ts';
import type { BalancerLook } from '../port.ts';
import { type Engine, type KindRow, type Resource, ownerIn, tagOf } from './engine.ts';
import { type EngineObject, placeOf, TYPE_IDS, observedOf, type Readings } from './forms.ts';
import type { Memory } from './memory.ts';

export interface Observation {
  /** Name of the configured balancer. */
  readonly name: string;
  readonly loadBalancer: string;
  readonly engine: Engine;
  readonly memory: Memory;
  readonly readings: Readings;
  readonly log: Log;
}

/** An object that is ours, or that has our name and no owner. */
export interface Found {
  readonly ref: Ref;
  readonly object: EngineObject;
  readonly tagged: boolean;
}

/** An object that is ours by its tag, or was just created here. */
export interface Claim {
  readonly ref: Ref;
  readonly tagged: boolean;
}

/** Reads lists, and single objects if rows are not enough; for one look at one owner. */
export function createReader(
  { name, engine, memory, readings, log }: Observation,
  owner: PoolRef,
  { signal: within, mayRecall = false }: BalancerLook,
) {
  const tag = tagOf(owner);
  const since = readings.mark();

  async function fetch(ref: Ref): Promise<EngineObject | null> {
    const object = await engine.get(ref.kind, ref.id, within);
    if (object) readings.keep(owner.uid, object, since);
    else memory.forget(ref);
    return object;
  }

  /** @param place of the list that contains the row. */
  async function read(kind: ObjectKind, row: KindRow, place: string): Promise<EngineObject | null> {
    if (row.object && !readings.isDoubtful(row.object)) return row.object;
    const known = mayRecall ? readings.recall(row.identifier) : null;
    const isSame = known?.name === row.name && known !== null && placeOf(kind, known) === place;
    return isSame ? known : fetch({ kind, id: row.identifier });
  }

  async function kindOf({ identifier, resource_type }: Resource): Promise<ObjectKind | null> {
    const typeId =
      resource_type?.identifier ??
      (await engine.getResource(identifier, within))?.resource_type?.identifier;
    const kind = OBJECT_KINDS.find((each) => TYPE_IDS[each] === typeId) ?? null;
    if (kind === null) {
      const fields = { balancer: name, id: identifier, type: typeId, tag };
      log.warn(fields, 'a resource of another kind has our tag and is left alone');
    }
    return kind;
  }

  async function readClaims(): Promise<ReadonlyMap<string, Claim>> {
    const rows = await engine.listTagged(tag, within);
    const made = memory.fresh(owner.uid);
    const kinds = await Promise.all(rows.map(kindOf));
    const claims = new Map(made.map(({ ref, tagged }) => [ref.id, { ref, tagged }]));
    rows.forEach(({ identifier: id }, at) => {
      const kind = kinds[at];
      if (kind) claims.set(id, { ref: { kind, id }, tagged: true });
    });
    return claims;
  }

  /** All objects of one kind below one place: claimed ones, and unowned ones with our full name. */
  async function readBelow(
    kind: ObjectKind,
    filters: Readonly<Record<string, string>>,
    claims: ReadonlyMap<string, Claim>,
  ): Promise<readonly Found[]> {
    const [place = ''] = Object.values(filters);
    const rows = await engine.list(kind, filters, within);
    const found = await Promise.all(
      rows.map(async (row): Promise<Found | null> => {
        const ref = { kind, id: row.identifier };
        const tagged = claims.get(ref.id)?.tagged ?? (await isTaggedNow(kind, row));
        const object = tagged === null ? null : await read(kind, row, place);
        return object && { ref, object, tagged: tagged === true };
      }),
    );
    return found.filter((one) => one !== null);
  }

  /** For an unclaimed object; null: it is not ours. True: the list of tags lags. */
  async function isTaggedNow(kind: ObjectKind, row: KindRow): Promise<boolean | null> {
    if (!isFullName(kind, row, owner)) return null;
    const told = await engine.getResource(row.identifier, within);
    const whose = told && ownerIn(told.tags ?? [], tag);
    return whose === null || whose === 'another' ? null : whose === 'us';
  }

  /**
   * Claimed objects that are in none of our lists: they are elsewhere, which is checked only once,
   * or the lists lag.
   */
  async function readUnlisted(
    claims: readonly Claim[],
    isOurs: (kind: ObjectKind, object: EngineObject) => boolean,
  ): Promise<readonly Found[]> {
    const found = await Promise.all(
      claims.map(async ({ ref, tagged }): Promise<Found | null> => {
        const known = readings.recall(ref.id);
        if (known && !isOurs(ref.kind, known)) return null;
        const object = await fetch(ref);
        return object && { ref, object, tagged };
      }),
    );
    return found.filter((one) => one !== null);
  }

  return { readClaims, readBelow, readUnlisted };
}

/** `<port>.<suffix>` for the upper two kinds, `<what>.<port>.<suffix>` for the lower two. */
function isFullName(kind: ObjectKind, { name = '' }: KindRow, { suffix }: PoolRef): boolean {
  if (!name.endsWith(`.${suffix}`)) return false;
  const parts = name.slice(0, -suffix.length - 1).split('.').length;
  return kind === 'backend' || kind === 'frontend' ? parts === 1 : parts >= 2;
}

/**
 * Reads all objects of an owner: those with its tag, and those without any owner's tag but with our
 * full name. Backends and frontends count if they belong to our load balancer; binds and servers if
 * their parent does. Lists decide which objects exist. Their contents come from rows, from earlier
 * reads if permitted, or from a single read.
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
    // If one part fails, the others can stop.
    failing.abort();
  }
}
